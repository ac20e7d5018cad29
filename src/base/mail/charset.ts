/**
 * The one decoder of charsets. It uses the decoders of the platform, one of which needs a correction, and iconv-lite
 * for those that the platform lacks (UTF-7, UTF-32, code pages of DOS and others).
 *
 * Names are read as mail writes them: in any case, with `x-` or `cs` before them, with a suffix (`iso-2022-jp-ms`,
 * `utf-8;x`), and by the numbers of Windows' code pages (`cp932`, `windows-936`).
 */
import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { decode } from 'iconv-lite'

/**
 * The encoding of octets with no stated charset, or with one that is stated as unknown (RFC 1428) or ASCII. It is UTF-8
 * if they are valid in it, else Windows' Latin-1.
 */
export const UNDECLARED = 'unknown-8bit'

/** Null if the charset is unknown. Bytes that are invalid in it become replacement characters. */
export function decodeCharset(bytes: Buffer, charset: string): string | null {
  const decoder = findDecoder(charset)
  if (decoder === null) return null
  if (decoder === UNDECLARED) return isUtf8(bytes) ? bytes.toString() : decodeCharset(bytes, 'windows-1252')
  if (typeof decoder === 'string') return decode(bytes, decoder)
  const text = decoder.decode(bytes)
  return decoder.encoding === 'windows-1252' ? text.replace(highControl, (char) => decodeWindows1252(char)) : text
}

/** The canonical name of a charset, such as `windows-1252` for `latin1`. Null if it is unknown. */
export function encodingOf(charset: string): string | null {
  const decoder = findDecoder(charset)
  if (decoder === null || typeof decoder === 'string') return decoder
  // One decoder reads all of them, so words of both may share a character.
  return decoder.encoding === 'gbk' ? 'gb18030' : decoder.encoding
}

/** Whether escape sequences change the meaning of the octets after them. `encoding` is what `encodingOf` returns. */
export function isStateful(encoding: string): boolean {
  return encoding === 'iso-2022-jp' || encoding === 'utf-7'
}

const highControl = /[\x80-\x9f]/g
const windowsSigns = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Node.js decodes these bytes of windows-1252 (also used for ISO-8859-1) as controls. */
function decodeWindows1252(char: string): string {
  return windowsSigns[char.charCodeAt(0) - 0x80] ?? char
}

/** A decoder of the platform, or the name of a codec of iconv-lite. */
type Decoder = TextDecoder | string

/** Characters of a name. */
const MAX_NAME = 60

function findDecoder(charset: string): Decoder | null {
  const name = charset
    .slice(0, MAX_NAME)
    .trim()
    .replace(/^["']|["']$/g, '')
  if (undeclaredNames.test(name)) return UNDECLARED
  const plain = createDecoder(name)
  // It lacks most characters of Windows' form of the charset. All of its names mean this form in mail.
  if (plain?.encoding === 'euc-kr') return 'cp949'
  if (plain !== null) return plain
  const [bare = ''] = name
    .toLowerCase()
    .replaceAll('_', '-')
    .split(/[;,*$: ]/)
  for (const tried of [bare, bare.replace(/^(?:x-|cs-?)+/, '')]) {
    const found = findKnown(tried)
    if (found !== null) return found
  }
  return null
}

function findKnown(name: string): Decoder | null {
  const [, page = ''] = /^(?:cp|ms|ibm|windows|win|dos|oem|codepage|pc)-?0{0,3}(\d{3,5})$/.exec(name) ?? []
  const label = labelsOfPages[page] ?? labels.find(([pattern]) => pattern.test(name))?.[1]
  if (label !== undefined) return findLabelled(label)
  if (/^125[0-8]$/.test(page)) return createDecoder(`windows-${page}`)
  return dosPages.has(page) ? `cp${page}` : createDecoder(name)
}

/** A decoder of the platform where it has one of that name, but for the two above. */
function findLabelled(label: string): Decoder {
  return label === UNDECLARED || label === 'cp949' ? label : (createDecoder(label) ?? label)
}

const undeclaredNames =
  /^(?:(?:us-?)?ascii|ansi[-_]x3\.4-19\d\d|(?:x-)?unknown(?:-8bit)?|8bit|default|none|_?auto(?:detect)?(?:[-_]\w{1,20})?)$/i

/** Windows' code pages by their numbers. */
const labelsOfPages: Readonly<Record<string, string>> = {
  '367': UNDECLARED,
  '819': 'iso-8859-1',
  '866': 'ibm866',
  '874': 'windows-874',
  '932': 'shift_jis',
  '943': 'shift_jis',
  '936': 'gb18030',
  '949': 'cp949',
  '950': 'big5',
  '951': 'big5',
  '10000': 'macintosh',
  '10007': 'x-mac-cyrillic',
  '20127': UNDECLARED,
  '20866': 'koi8-r',
  '20932': 'euc-jp',
  '20936': 'gb18030',
  '20949': 'cp949',
  '21866': 'koi8-u',
  '28591': 'iso-8859-1',
  '28592': 'iso-8859-2',
  '28595': 'iso-8859-5',
  '28605': 'iso-8859-15',
  '50220': 'iso-2022-jp',
  '50221': 'iso-2022-jp',
  '50222': 'iso-2022-jp',
  '51932': 'euc-jp',
  '51936': 'gb18030',
  '51949': 'cp949',
  '54936': 'gb18030',
  '65000': 'utf-7',
  '65001': 'utf-8',
}

/** Spellings with a suffix, and names that the platform does not know. */
const labels: readonly (readonly [RegExp, string])[] = [
  [/^(?:unicode-(?:1-1-|2-0-)?)?utf-?7$/, 'utf-7'],
  [/^(?:unicode-1-1-)?utf-?8(?:$|mb[34]$|[^0-9a-z])/, 'utf-8'],
  [/^utf-?16-?be$/, 'utf-16be'],
  [/^utf-?16(?:-?le)?$/, 'utf-16le'],
  [/^utf-?32-?be$/, 'utf-32be'],
  [/^utf-?32(?:-?le)?$/, 'utf-32le'],
  [/^iso-?2022-?jp/, 'iso-2022-jp'],
  [/^(?:windows-?31j|shift-?jis|sjis|mskanji|ms-kanji)/, 'shift_jis'],
  [/^euc-?jp/, 'euc-jp'],
  [/^(?:gbk|gb-?2312|gb-?18030|euc-?cn)/, 'gb18030'],
  [/^(?:euc-?kr|ks-?c-?5601|uhc|korean)/, 'cp949'],
  [/^big-?5/, 'big5'],
  [/^(?:us-?)?ascii/, UNDECLARED],
  [/^tis-?620/, 'windows-874'],
  [/^(?:(?:iso-?)?8859-?1(?:$|[^0-9])|latin-1$)/, 'iso-8859-1'],
  [/^ansi$/, 'windows-1252'],
  [/^(?:iso-?)?8859-?2(?:$|[^0-9])/, 'iso-8859-2'],
  [/^(?:iso-?)?8859-?5(?:$|[^0-9])/, 'iso-8859-5'],
  [/^(?:iso-?)?8859-?7(?:$|[^0-9])/, 'iso-8859-7'],
  [/^(?:iso-?)?8859-?9(?:$|[^0-9])/, 'windows-1254'],
  [/^(?:iso-?)?8859-?15(?:$|[^0-9])/, 'iso-8859-15'],
  [/^koi8-?r/, 'koi8-r'],
  [/^koi8-?u/, 'koi8-u'],
]

/** The code pages that iconv-lite has and the platform lacks. */
const dosPages: ReadonlySet<string> = new Set([
  ...['437', '720', '737', '775', '808', '850', '852', '855', '856', '857', '858', '860', '861', '862', '863', '864'],
  ...['865', '869', '922', '1046', '1124', '1125', '1129', '1133', '1161', '1162', '1163'],
])

function createDecoder(charset: string): TextDecoder | null {
  try {
    return new TextDecoder(charset)
  } catch {
    return null
  }
}
