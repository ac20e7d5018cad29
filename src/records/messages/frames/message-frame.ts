/**
 * A *frame* is what the messages of a broadcast have in common: fixed bytes with slots between them. One of the values
 * of a message fills each slot.
 *
 * A slot in quoted-printable begins and ends at the start of a line, so its bytes never depend on what surrounds it.
 */
import { encodeSlot, type SlotEncoding } from './encode-slot.js'
import type { FrameRecipe } from './frame-recipe.js'

export interface FrameSlot {
  /** The index of the value that fills the slot. Several slots may have the same value. */
  readonly value: number
  readonly encoding: SlotEncoding
}

type FramePiece = Buffer | FrameSlot

export interface MessageFrame {
  readonly pieces: readonly FramePiece[]
  /** True if the header has UTF-8 whatever the values are (RFC 6532). */
  readonly smtputf8: boolean
  readonly recipe: FrameRecipe
}

/** Builds the message. `slots` has a value for each of `recipe.values`. */
export function buildFramed(frame: MessageFrame, slots: readonly string[]): Buffer {
  return Buffer.concat(fillPieces(frame, slots))
}

/** Returns the number of bytes of the message. */
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
