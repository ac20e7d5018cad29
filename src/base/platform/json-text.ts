/**
 * A JSON text that another process made of a large value. An answer contains it as it is: to parse and to encode tens
 * of megabytes would each block the main thread for a good part of a second.
 */
export class JsonText {
  readonly pieces: readonly Buffer[]

  /** The bytes are UTF-8. */
  constructor(...pieces: readonly Buffer[]) {
    this.pieces = pieces
  }

  /** The value, where it is a part of something that is encoded in one piece. */
  toJSON(): unknown {
    return JSON.parse(Buffer.concat(this.pieces).toString())
  }
}
