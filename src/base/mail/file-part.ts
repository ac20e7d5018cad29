/**
 * Decides which parts of a message are files and which are its bodies (RFC 2183): one definition for what is parsed,
 * tracked and judged.
 *
 * A part with a disposition other than `inline`, or with a file name in Content-Disposition or Content-Type, is a file.
 * Alternatives, and the text that a `multipart/related` is about, are bodies whatever name they have; a message that
 * consists of one text is a file only if its Content-Disposition says so.
 */

interface DeclaredFile {
  /** The word of Content-Disposition, without its parameters, or empty if there is none. */
  readonly disposition: string
  /** File names, or empty if there is none. */
  readonly dispositionName: string
  readonly typeName: string
}

/** `message`: the part is the message itself. `body`: it is in the place of a body. */
export type PartPlace = 'message' | 'body' | 'other'

export function isFilePart({ disposition, dispositionName, typeName }: DeclaredFile, place: PartPlace): boolean {
  if (disposition !== '' && disposition.toLowerCase() !== 'inline') return true
  if (place === 'body') return false
  return dispositionName !== '' || (place === 'other' && typeName !== '')
}
