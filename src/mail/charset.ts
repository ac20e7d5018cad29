/** Bytes of a charset as text, by the decoders of the platform; one of them wants mending. */
import { TextDecoder } from 'node:util'

/** Null: nobody knows the charset. Bytes that mean nothing in it become replacement characters. */
export function decodeCharset(bytes: Buffer, charset: string): string | null {
  const decoder = createDecoder(charset)
  if (decoder === null) return null
  const text = decoder.decode(bytes)
  return decoder.encoding === 'windows-1252' ? text.replace(highControl, (char) => decodeWindows1252(char)) : text
}

/** The one name of a charset that has many: `latin1` is `windows-1252`. Null: unknown. */
export function encodingOf(charset: string): string | null {
  return createDecoder(charset)?.encoding ?? null
}

/** Escape sequences say what the octets after them mean. `encoding` as `encodingOf` gives it. */
export function isStateful(encoding: string): boolean {
  return encoding === 'iso-2022-jp'
}

const highControl = /[\x80-\x9f]/g
const windowsSigns = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Node's decoder of windows-1252, which is also that of ISO-8859-1, leaves these bytes as controls. */
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
