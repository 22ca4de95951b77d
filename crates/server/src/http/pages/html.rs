//! HTML that is put together: what comes from outside goes in through [`escaped`] alone.

/// A piece of a page.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// HTML of our own.
    pub fn raw(mut self, html: &str) -> Self {
        self.0.push_str(html);
        self
    }

    /// A paragraph of text.
    pub fn paragraph(self, text: &str) -> Self {
        let text = escaped(text);
        self.raw(&format!("<p>{text}</p>"))
    }

    /// A heading.
    pub fn heading(self, text: &str) -> Self {
        let text = escaped(text);
        self.raw(&format!("<h2>{text}</h2>"))
    }

    /// A table with a caption; cells are HTML already.
    pub fn table(self, id: &str, caption: &str, header: &[&str], rows: &[Vec<String>]) -> Self {
        let head: String = header.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name))).collect();
        let row = |cells: &Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr>{cells}</tr>")
        };
        let body: String = rows.iter().map(row).collect();
        self.raw(&format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table id=\"{id}\"><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>",
            caption = escaped(caption)
        ))
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Text as it may stand in HTML, between tags and in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}
