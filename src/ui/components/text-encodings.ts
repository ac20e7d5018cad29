/** The names of the encodings of uploaded files, as users know them. */
import type { components } from '../api/schema.d.ts'

type TextEncoding = components['schemas']['ContactImportPreview']['encoding']

const names: Readonly<Record<TextEncoding, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16',
  'utf-16be': 'UTF-16, high byte first',
  'windows-1252': 'Windows-1252 (Western Europe)',
  'windows-1250': 'Windows-1250 (Central Europe)',
  'windows-1251': 'Windows-1251 (Cyrillic)',
  'windows-1253': 'Windows-1253 (Greek)',
  'windows-1254': 'Windows-1254 (Turkish)',
  macintosh: 'Mac OS Roman',
  'koi8-r': 'KOI8-R (Cyrillic)',
  shift_jis: 'Shift-JIS (Japanese)',
  gb18030: 'GB 18030 (Chinese)',
  big5: 'Big5 (Chinese, traditional)',
  'euc-kr': 'EUC-KR (Korean)',
}

export function nameEncoding(encoding: TextEncoding): string {
  return names[encoding]
}

export const encodingOptions: readonly { readonly value: TextEncoding; readonly label: string }[] = (
  [
    ...(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252', 'windows-1250', 'windows-1251'] as const),
    ...(['windows-1253', 'windows-1254', 'macintosh', 'koi8-r', 'shift_jis', 'gb18030', 'big5', 'euc-kr'] as const),
  ] as const
).map((value) => ({ value, label: names[value] }))
