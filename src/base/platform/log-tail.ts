/**
 * The newest log lines in memory, as JSON objects, for the page of the log.
 *
 * Limits: 1,000 lines, and 4,000 characters of each; of a longer line the time, the level and the message are kept.
 */

const MAX_LINES = 1_000
const MAX_LINE = 4_000

interface TailLine {
  /** Grows with each line. */
  readonly seq: number
  /** ISO 8601 in UTC. */
  readonly time: string
  /** A level of pino, such as 30 for info and 40 for a warning. */
  readonly level: number
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

export class LogTail {
  private readonly lines: { readonly seq: number; readonly text: string }[] = []
  private seq = 0

  /** Adds a line as pino writes it. */
  write(line: string): void {
    this.seq += 1
    this.lines.push({ seq: this.seq, text: line.length > MAX_LINE ? shorten(line) : line })
    // They are removed in portions, because each removal moves all lines that stay.
    if (this.lines.length >= MAX_LINES * 2) this.lines.splice(0, MAX_LINES)
  }

  /** The newest lines of at least this level with a `seq` before `before`, newest first. */
  read({ minLevel, before, limit }: TailQuery): TailLine[] {
    const found: TailLine[] = []
    for (const { seq, text } of this.lines.slice(-MAX_LINES).reverse()) {
      if (found.length === limit) break
      if (seq >= before) continue
      const line = parseLogLine(text)
      if (line !== null && line.level >= minLevel) found.push({ seq, ...line })
    }
    return found
  }
}

interface TailQuery {
  readonly minLevel: number
  readonly before: number
  readonly limit: number
}

function shorten(line: string): string {
  const { time = '', level = 0, message = '' } = parseLogLine(line) ?? {}
  return JSON.stringify({ time, level, msg: `${message.slice(0, MAX_LINE / 2)} (the line was too long)` })
}

interface LogLine {
  readonly time: string
  readonly level: number
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/**
 * Reads the JSON of a log line.
 *
 * Null if it is no line of our log.
 */
export function parseLogLine(text: string): LogLine | null {
  try {
    const { time, level, msg, ...fields }: Readonly<Record<string, unknown>> = JSON.parse(text)
    return { time: String(time), level: Number(level), message: typeof msg === 'string' ? msg : '', fields }
  } catch {
    return null
  }
}
