//! Marker codes (ITU T.81, Table B.1), without the leading 0xFF.

pub(super) const TEM: u8 = 0x01;
pub(super) const SOF0: u8 = 0xC0;
pub(super) const SOF2: u8 = 0xC2;
pub(super) const DHT: u8 = 0xC4;
pub(super) const RST0: u8 = 0xD0;
pub(super) const RST7: u8 = 0xD7;
pub(super) const SOI: u8 = 0xD8;
pub(super) const EOI: u8 = 0xD9;
pub(super) const SOS: u8 = 0xDA;
pub(super) const DQT: u8 = 0xDB;
pub(super) const DNL: u8 = 0xDC;
pub(super) const DRI: u8 = 0xDD;
pub(super) const APP0: u8 = 0xE0;
pub(super) const APP14: u8 = 0xEE;
