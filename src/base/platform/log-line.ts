/** Reads the JSON of a log line. */

interface LogLine {
  readonly time: string
  readonly level: number
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Null: it is no line of our log. */
export function parseLogLine(text: string): LogLine | null {
  try {
    const { time, level, msg, ...fields }: Readonly<Record<string, unknown>> = JSON.parse(text)
    return { time: String(time), level: Number(level), message: typeof msg === 'string' ? msg : '', fields }
  } catch {
    return null
  }
}
