/** Converts local time in a time zone of the IANA database that Node.js contains. */
import { createLruCache } from '../../base/platform/lru-cache.js'
import type { Timestamp } from '../../base/storage/tables/columns.js'

/** Returns the milliseconds by which local time is ahead of UTC at a moment. */
export type OffsetAt = (at: Timestamp) => number

/** The most formatters that are kept, because making one takes a tenth of a millisecond. */
const MAX_CACHED = 100
const formats = createLruCache<Intl.DateTimeFormat>({ max: MAX_CACHED })

/** Returns null if there is no such time zone. Offsets such as `+01:00` are no time zones. */
export function findTimeZone(name: string): OffsetAt | null {
  if (!/^[a-z]/i.test(name)) return null
  const format = formats.get(name) ?? createFormat(name)
  if (format === null) return null
  formats.set(name, format)
  return (at) => offsetOf(format, at)
}

export const utc: OffsetAt = () => 0

function createFormat(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' },
    })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** `at` is in the year 1 or later, in whole seconds. */
function offsetOf(format: Intl.DateTimeFormat, at: Timestamp): number {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const partOf = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
  const local = Date.UTC(
    partOf('year'),
    partOf('month') - 1,
    partOf('day'),
    partOf('hour'),
    partOf('minute'),
    partOf('second'),
  )
  return local - at
}
