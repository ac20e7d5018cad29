/** The input of an SMTP server: command lines, and after DATA a message up to its lone dot. */
type SinkUnit = { readonly kind: 'line'; readonly line: string } | { readonly kind: 'message'; readonly raw: Buffer }

const END = Buffer.from('\r\n.\r\n')

export class SinkReader {
  private bytes: Buffer = Buffer.alloc(0)
  /** Parts of the unfinished message, before `bytes`. */
  private parts: Buffer[] = []
  private inMessage = false

  /** Returns the number of command lines that ended in `chunk`. */
  add(chunk: Buffer): number {
    this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk])
    return this.inMessage ? 0 : chunk.toString('latin1').split('\r\n').length - 1
  }

  expectMessage(): void {
    this.inMessage = true
    // The line end before the message: a lone dot may be its first line.
    this.bytes = Buffer.concat([Buffer.from('\r\n'), this.bytes])
  }

  next(): SinkUnit | null {
    return this.inMessage ? this.message() : this.line()
  }

  private line(): SinkUnit | null {
    const end = this.bytes.indexOf('\r\n')
    if (end === -1) return null
    const line = this.bytes.toString('utf8', 0, end)
    this.bytes = this.bytes.subarray(end + 2)
    return { kind: 'line', line }
  }

  private message(): SinkUnit | null {
    const end = this.bytes.indexOf(END)
    if (end === -1) {
      // All but the possible beginning of the end is set aside, so that no byte is searched twice.
      const kept = Math.max(0, this.bytes.length - END.length + 1)
      this.parts.push(this.bytes.subarray(0, kept))
      this.bytes = this.bytes.subarray(kept)
      return null
    }
    const stuffed = Buffer.concat([...this.parts, this.bytes.subarray(0, end + 2)])
    this.bytes = this.bytes.subarray(end + END.length)
    this.parts = []
    this.inMessage = false
    return { kind: 'message', raw: removeDotStuffing(stuffed) }
  }
}

/** Without the line end that was put before the first line. */
function removeDotStuffing(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll('\r\n.', '\r\n').slice(2), 'latin1')
}
