/** Units of time in milliseconds, the unit of `Clock`, and days as numbers. */
export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000

/** The number of a day of UTC; 0 is 1 January 1970. */
export function dayOf(moment: number): number {
  return Math.floor(moment / DAY)
}
