//! The mobile contract: frames and rules of that contract only.
