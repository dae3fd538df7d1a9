//! The level of a video, Annex A.3.1, table A-1.

use super::VideoFormat;

/// Each level's `level_idc`, and its limits: macroblocks per second, macroblocks per frame, and
/// macroblocks of reference frames.
const LEVELS: [(u8, u32, u32, u32); 16] = [
    (10, 1_485, 99, 396),
    (11, 3_000, 396, 900),
    (12, 6_000, 396, 2_376),
    (13, 11_880, 396, 2_376),
    (21, 19_800, 792, 4_752),
    (22, 20_250, 1_620, 8_100),
    (30, 40_500, 1_620, 8_100),
    (31, 108_000, 3_600, 18_000),
    (32, 216_000, 5_120, 20_480),
    (40, 245_760, 8_192, 32_768),
    (42, 522_240, 8_704, 34_816),
    (50, 589_824, 22_080, 110_400),
    (51, 983_040, 36_864, 184_320),
    (52, 2_073_600, 36_864, 184_320),
    (60, 4_177_920, 139_264, 696_320),
    (62, 16_711_680, 139_264, 696_320),
];

/// Returns the lowest sufficient `level_idc`, or the highest one if no level is sufficient.
pub(super) fn level_idc(format: &VideoFormat) -> u8 {
    let (columns, rows) = (format.columns(), format.rows());
    let area = columns * rows;
    let longer = columns.max(rows);
    LEVELS
        .into_iter()
        .find(|(_, per_second, per_frame, references)| {
            area * format.frames_per_second <= *per_second
                && area <= *per_frame
                && area <= *references
                // The longer side is limited to the square root of eight times the frame size.
                && longer * longer <= 8 * per_frame
        })
        .map_or(62, |(level, ..)| level)
}
