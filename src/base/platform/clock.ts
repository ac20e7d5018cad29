/** The time in epoch milliseconds. No other file reads the system clock. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

/** An ISO 8601 UTC timestamp with milliseconds and `Z`. Every interface uses this form. */
export function formatTimestamp(at: number): string {
  return new Date(at).toISOString()
}
