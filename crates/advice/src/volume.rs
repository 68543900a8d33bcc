//! Where a managed volume helps a drive, and where it harms.
//!
//! ```text
//!   STACK -> Rates: the model, asked in virtual time      rates.rs
//!   RUN   -> Rates: its cells
//!     `-> Forecast: flash::predict, fill by fill          forecast.rs
//!           `- measured beside it, on the model           measured.rs
//! ```

mod forecast;
mod measured;
mod rates;

pub use forecast::Forecast;
pub use measured::{Measured, measure};
pub use rates::{Blocks, Rates, of_model, of_record};
