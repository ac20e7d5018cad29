/** Which compressions clients take. */
import fc from 'fast-check'
import t from 'tap'
import { acceptsGzip, chooseEncoding } from '../../../../../src/servers/api/http/input/accept-encoding.js'

t.test('gzip where the field names it with a weight', async (t) => {
  const table: readonly (readonly [string | undefined, boolean])[] = [
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['x-gzip', true],
    ['deflate, gzip;q=1.0, *;q=0.5', true],
    ['br;q=1.0, gzip ; q=0.001', true],
    ['gzip;q=0', false],
    ['gzip;q=0.000, *', false],
    ['*', true],
    ['*;q=0', false],
    ['identity', false],
    ['gzip;q=yes', false],
    ['gzipped', false],
    [`${'br,'.repeat(100)}gzip`, false],
  ]
  for (const [field, accepts] of table) t.equal(acceptsGzip(field), accepts, String(field).slice(0, 40))
})

t.test('Brotli where the field names it, else gzip', async (t) => {
  const table: readonly (readonly [string | undefined, 'br' | 'gzip' | null])[] = [
    [undefined, null],
    ['gzip, deflate, br, zstd', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0', null],
    ['*', 'gzip'],
    ['identity', null],
  ]
  for (const [field, encoding] of table) t.equal(chooseEncoding(field), encoding, String(field))
})

t.test('any text is answered', async () => {
  fc.assert(fc.property(fc.string(), (text) => typeof acceptsGzip(text) === 'boolean'))
})
