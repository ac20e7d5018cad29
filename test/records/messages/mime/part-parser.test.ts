/** Bodies are decoded by the names of charsets that header fields know. */
import t from 'tap'
import { parseByLibrary } from '../../../../src/records/messages/mime/parse-parts.js'

t.test('names of charsets in all their spellings', async (t) => {
  for (const [charset, hex, text] of [
    ['cp932', '82b182f1', 'こん'],
    ['x-cp932', '82b182f1', 'こん'],
    ['cp936', 'c4e3bac3', '你好'],
    ['x-windows-949', 'b0a1', '가'],
    ['windows-950', 'a741a66e', '你好'],
    ['utf-7', '2b414f512d', 'ä'],
    ['unicode-1-1-utf-7', '2b414f512d', 'ä'],
    ['dos-850', '84', 'ä'],
    ['cp437', '84', 'ä'],
    ['iso-2022-jp-ms', '1b244224331b2842', 'こ'],
    ['utf-8', 'c3a4', 'ä'],
    ['iso-8859-1', 'e4', 'ä'],
  ] as const) {
    const head = `Content-Type: text/plain; charset=${charset}\r\nContent-Transfer-Encoding: base64\r\n\r\n`
    const raw = Buffer.from(`${head}${Buffer.from(hex, 'hex').toString('base64')}\r\n`)
    t.equal((await parseByLibrary(raw)).text, text, charset)
  }
})

t.test('names of files too', async (t) => {
  for (const [charset, octets, name] of [
    ['dos-850', '%84', 'ä'],
    ['cp51932', '%A4%B3', 'こ'],
    ['x-windows-949', '%8Cc', '똠'],
    ['latin-1', '%E4', 'ä'],
    ['x-unheard-of', '%C3%A4', 'ä'],
  ] as const) {
    const head = `Content-Type: application/pdf\r\nContent-Disposition: attachment; filename*=${charset}''${octets}.pdf`
    const { attachments } = await parseByLibrary(Buffer.from(`${head}\r\n\r\nx\r\n`))
    t.match(attachments, [{ filename: `${name}.pdf` }], charset)
  }
})
