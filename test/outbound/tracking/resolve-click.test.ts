/** The URLs that links lead to, as values of a header field. What a request resolves to: test/journeys/opens-and-clicks. */
import { validateHeaderValue } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { toLocation } from '../../../src/outbound/tracking/resolve-click.js'

const table: readonly (readonly [url: string, location: string | null])[] = [
  ['https://example.com/one?a=1&b=%20#top', 'https://example.com/one?a=1&b=%20#top'],
  ['HTTP://Example.com', 'HTTP://Example.com'],
  ['https://example.com/a\'b"c<d>[e]{f}', 'https://example.com/a\'b"c<d>[e]{f}'],
  ['https://example.com/a b', 'https://example.com/a%20b'],
  ['https://bücher.example/größe?q=ü#ä', 'https://xn--bcher-kva.example/gr%C3%B6%C3%9Fe?q=%C3%BC#%C3%A4'],
  ['https://example.com/\r\nSet-Cookie: a=b', 'https://example.com/Set-Cookie:%20a=b'],
  ['https://example.com/\0x', 'https://example.com/%00x'],
  ['  https://example.com/\t', 'https://example.com/'],
  ['https:example.com', 'https://example.com/'],
  ['https://example.com/\ud800', 'https://example.com/%EF%BF%BD'],
  ['javascript:alert(1)', null],
  ['java\nscript:alert(1)', null],
  ['data:text/html,hello', null],
  ['//example.com/', null],
  ['/v1/emails', null],
  ['https://', null],
  ['', null],
]

t.test('stored URLs', async (t) => {
  for (const [url, location] of table) t.equal(toLocation(url), location, JSON.stringify(url))
})

t.test('no stored URL makes another header field, or leads to another scheme', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.tuple(fc.constantFrom('http://', 'https://', 'HTTPS:', 'javascript:', '\r\n'), fc.string({ unit: 'binary' })),
  )
  await fc.assert(
    fc.asyncProperty(text, async (given) => {
      const url = [given].flat().join('')
      const location = toLocation(url)
      if (location === null) return
      validateHeaderValue('Location', location)
      if (!/^https?:\/\/[!-~]+$/i.test(location)) throw new Error(JSON.stringify([url, location]))
    }),
  )
})
