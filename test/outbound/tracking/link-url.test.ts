/** Which hrefs are followed, and the URL that is stored. */
import fc from 'fast-check'
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { createOwnUrls, linkUrlOf } from '../../../src/outbound/tracking/link-url.js'

const own = createOwnUrls('https://mail.test:8443/base')(parseDomainName('posthorn.a.test'))

t.test('a URL is stored as it is written if a Location field can carry it', async (t) => {
  const asWritten = [
    'https://shop.test',
    'http://shop.test/a/../b?x=1&y=%20#part',
    'HTTPS://Shop.Test/Path',
    "https://shop.test:8443/?u=https://other.test/;(a),b!c*'d~e[1]@f$g+h",
    'https://[2001:db8::1]/',
    'https://mail.test/v1/track/click/x',
    'https://mail.test:8443/v1/track/click/x',
    'https://mail.test:8443/base/v1/emails',
    'https://other.test:8443/base/v1/track/open/x',
  ]
  for (const href of asWritten) t.equal(linkUrlOf(href, own), href)
})

t.test('another is serialized as browsers do', async (t) => {
  const table: readonly [string, string][] = [
    [' https://shop.test/a b ', 'https://shop.test/a%20b'],
    ['\x01\n\thttps://shop.test/', 'https://shop.test/'],
    ['ht\ntps://shop.test/\r\nSet-Cookie:x', 'https://shop.test/Set-Cookie:x'],
    ['https://shop.test/ä?ö#ü', 'https://shop.test/%C3%A4?%C3%B6#%C3%BC'],
    ['https://bücher.test/', 'https://xn--bcher-kva.test/'],
    ['https:shop.test/x', 'https://shop.test/x'],
    ['https:\\\\shop.test\\x', 'https://shop.test/x'],
    ['https://shop.test/{{name}}', 'https://shop.test/%7B%7Bname%7D%7D'],
    ['https://shop.test/"<>\x7f', 'https://shop.test/%22%3C%3E%7F'],
  ]
  for (const [href, url] of table) t.equal(linkUrlOf(href, own), url, JSON.stringify(href))
})

t.test('the others stay', async (t) => {
  const stay = [
    '',
    '#top',
    '/relative',
    '//shop.test/',
    'shop.test',
    'mailto:a@b.test',
    'tel:+123',
    'sms:+123',
    'cid:logo',
    'data:text/html,x',
    'javascript:alert(1)',
    'ftp://shop.test/',
    'httpx://shop.test/',
    'http',
    'https://',
    'https://a b/',
    'https://shop.test:99999/',
    'https://bank.test@evil.test/',
    'https://user:secret@shop.test/',
    '{{unsubscribe_url}}',
    'https://{{ unsubscribe_url }}',
    'https://shop.test/?next={{unsubscribe_url}}',
    'https://mail.test:8443/base/v1/track/click/x',
    'https://MAIL.test:8443/base/v1/track/open/x?bid=1',
    'https://posthorn.a.test:8443/base/v1/unsubscribe/token',
  ]
  for (const href of stay) t.equal(linkUrlOf(href, own), null, href.slice(0, 60))
})

t.test('what is stored is visible ASCII and leads to the same place', async () => {
  const href = fc.tuple(fc.constantFrom('http://a.test/', ' HTTPS://b.test?', 'http:'), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(href, ([start, rest]) => {
      const url = linkUrlOf(start + rest, own)
      return url === null || (/^[\x21-\x7e]+$/.test(url) && new URL(url).href === new URL(start + rest).href)
    }),
  )
})

t.test('a URL that is not parsed is stored as one that is', async () => {
  const parsed = (href: string): string | null => {
    const url = URL.canParse(href) ? new URL(href) : null
    const isFollowed = url !== null && url.username === '' && url.password === ''
    return isFollowed && !own.hosts.includes(url.host) ? href : null
  }
  const label = fc.oneof(
    fc.constantFrom('shop', 'xn--', 'xn--a', 'xn--bcher-kva', '-', 'a--b', '1', '0x7f', '256', 'a'.repeat(64)),
    fc.string({ unit: fc.constantFrom('a', 'z', '0', '-'), maxLength: 5 }),
  )
  const host = fc.array(label, { minLength: 1, maxLength: 12 }).map((labels) => labels.join('.'))
  const rest = fc.string({ unit: fc.constantFrom('/', '?', '#', ':', '@', '8', '.', '%', '[', ']'), maxLength: 6 })
  fc.assert(
    fc.property(fc.constantFrom('http://', 'https://'), host, rest, (scheme, name, end) => {
      const href = scheme + name + end
      return linkUrlOf(href, own) === parsed(href)
    }),
  )
})
