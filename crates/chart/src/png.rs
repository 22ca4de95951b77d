//! Pixels as a PNG file.

use crate::marks::Picture;
use crate::raster::Pixels;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::{Result, Write};

/// Pixels of a metre at one pixel for each unit: 96 dots per inch.
const PER_METRE: f64 = 96.0 / 0.0254;

impl Picture {
    /// The picture as a PNG file, this many pixels for each of its units; letters are those of DejaVu Sans.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>> {
        let Pixels { width, height, bytes } = self.pixels(scale);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        for row in bytes.chunks(3 * width.max(1)) {
            zlib.write_all(&[0])?;
            zlib.write_all(row)?;
        }
        let size = [width as u32, height as u32].map(u32::to_be_bytes).concat();
        // Eight bits each of red, green and blue.
        let header = [&size[..], &[8, 2, 0, 0, 0]].concat();
        let dots = ((PER_METRE * scale).round() as u32).to_be_bytes();
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut file, b"IHDR", &header);
        chunk(&mut file, b"pHYs", &[&dots[..], &dots, &[1]].concat());
        chunk(&mut file, b"IDAT", &zlib.finish()?);
        chunk(&mut file, b"IEND", &[]);
        Ok(file)
    }
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    let mut sum = Crc::new();
    sum.update(name);
    sum.update(content);
    file.extend((content.len() as u32).to_be_bytes());
    file.extend(name);
    file.extend(content);
    file.extend(sum.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use crate::{Axis, LineChart, Series};
    use flate2::read::ZlibDecoder;
    use std::io::Read;

    #[test]
    fn a_png_has_its_size_and_all_of_its_pixels() {
        let picture = LineChart::new("t").y(Axis::linear("y")).line(Series::new("s", vec![(0.0, 1.0), (1.0, 2.0)]));
        let (picture, scale) = (picture.picture(), 0.5);
        let file = picture.to_png(scale).unwrap();
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n") && file.ends_with(b"IEND\xae\x42\x60\x82"));
        let size = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!((size(16), size(20)), (360, (picture.height * scale).ceil() as u32));
        let data = file.windows(4).position(|name| name == b"IDAT").unwrap() + 4;
        let mut rows = Vec::new();
        ZlibDecoder::new(&file[data..]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows.len(), (1 + 360 * 3) * size(20) as usize);
        assert!(rows.iter().any(|byte| *byte < 100), "something is drawn");
    }
}
