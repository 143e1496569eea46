//! Guards against wildcard arms that swallow new variants.

/// Asserts that the code below handles all variants of one of the contract's growing
/// enums. Its wildcard arm is then only for a later version of the contract.
///
/// In tests only: a published codec must compile with a contract that has grown since.
macro_rules! handles_all {
    ($variants:literal of $type:ty) => {
        #[cfg(test)]
        const _: () = assert!(
            <$type>::VARIANTS == $variants,
            "the contract has a new variant: handle it here, then adjust the count"
        );
    };
}

pub(crate) use handles_all;
