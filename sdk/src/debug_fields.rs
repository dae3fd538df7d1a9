//! `Debug` of types that have more than is worth showing, or that others must not see.

/// Implements `Debug` for a type, given its generics and the fields to show.
macro_rules! debug_fields {
    ([$($generics:tt)*] $type:ty as $name:literal { $($field:ident),* }) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name)
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use debug_fields;
