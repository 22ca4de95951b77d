//! Enums whose variants have names in files and flags.

/// An enum with its names in one table, and from it `ALL`, in the order of the table, and `name`.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$own:meta])* $variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $visibility enum $type {
            $($(#[$own])* $variant),+
        }

        impl $type {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in files and flags.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }
    };
}
