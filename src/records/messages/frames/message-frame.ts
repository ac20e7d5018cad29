/**
 * A *frame* is what the messages of a broadcast have in common: fixed bytes with slots between them, each filled by one
 * of the values that a message has of its own.
 *
 * A slot in quoted-printable begins and ends at the start of a line, so its bytes never depend on what surrounds it.
 */
import { encodeSlot, type SlotEncoding } from './encode-slot.js'
import type { FrameRecipe } from './frame-recipe.js'

export interface FrameSlot {
  /** Index of the value that fills it. Several slots may have one value. */
  readonly value: number
  readonly encoding: SlotEncoding
}

type FramePiece = Buffer | FrameSlot

export interface MessageFrame {
  readonly pieces: readonly FramePiece[]
  /** The header has UTF-8 whatever the values are (RFC 6532). */
  readonly smtputf8: boolean
  readonly recipe: FrameRecipe
}

/** The message. `slots`: a value for each of `recipe.values`. */
export function buildFramed(frame: MessageFrame, slots: readonly string[]): Buffer {
  return Buffer.concat(fillPieces(frame, slots))
}

/** Bytes of the message. */
export function sizeOfFramed(frame: MessageFrame, slots: readonly string[]): number {
  return fillPieces(frame, slots).reduce((sum, { length }) => sum + length, 0)
}

function fillPieces({ pieces, recipe }: MessageFrame, slots: readonly string[]): readonly Buffer[] {
  if (slots.length !== recipe.values.length) throw new Error('a message has not as many values as its frame')
  const written = new Map<string, Buffer>()
  return pieces.map((piece) => {
    if (Buffer.isBuffer(piece)) return piece
    const key = `${piece.value} ${piece.encoding}`
    const bytes = written.get(key) ?? encodeSlot(slots[piece.value] ?? '', piece.encoding)
    written.set(key, bytes)
    return bytes
  })
}
