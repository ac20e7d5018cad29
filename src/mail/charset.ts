/** Decodes bytes of a charset with the decoders of the platform, one of which needs a correction. */
import { TextDecoder } from 'node:util'

/** Null: the charset is unknown. Bytes that are invalid in it become replacement characters. */
export function decodeCharset(bytes: Buffer, charset: string): string | null {
  const decoder = createDecoder(charset)
  if (decoder === null) return null
  const text = decoder.decode(bytes)
  return decoder.encoding === 'windows-1252' ? text.replace(highControl, (char) => decodeWindows1252(char)) : text
}

/** The canonical name of a charset: that of `latin1` is `windows-1252`. Null: unknown. */
export function encodingOf(charset: string): string | null {
  return createDecoder(charset)?.encoding ?? null
}

/** Do escape sequences change the meaning of the octets after them? `encoding`: as `encodingOf` returns it. */
export function isStateful(encoding: string): boolean {
  return encoding === 'iso-2022-jp'
}

const highControl = /[\x80-\x9f]/g
const windowsSigns = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Node.js decodes these bytes of windows-1252 (also used for ISO-8859-1) as controls. */
function decodeWindows1252(char: string): string {
  return windowsSigns[char.charCodeAt(0) - 0x80] ?? char
}

function createDecoder(charset: string): TextDecoder | null {
  try {
    return new TextDecoder(charset)
  } catch {
    return null
  }
}
