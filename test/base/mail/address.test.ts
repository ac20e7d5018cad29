/** Addresses of other servers, which are read more generously than ours. */
import t from 'tap'
import {
  parseAddress,
  tryParseAddress,
  tryParseForeignAddress,
  tryParseIncomingAddress,
} from '../../../src/base/mail/address.js'
import { localPartKey } from '../../../src/base/mail/mailbox-key.js'

t.test('addresses of other servers are read as those write them', (t) => {
  const long = `${'x'.repeat(60)}=${'y'.repeat(60)}`
  for (const foreign of [
    'a..b@docomo.test',
    'a.@b.test',
    '.a@b.test',
    `${long}@b.test`,
    `user+caf_=${long}@gmail.test`,
  ]) {
    t.equal(tryParseAddress(foreign), null, foreign)
    t.equal(tryParseForeignAddress(foreign), foreign)
  }
  t.equal(tryParseForeignAddress('a..b@B.Test'), 'a..b@b.test')
  t.equal(tryParseForeignAddress('"a..b"@b.test'), '"a..b"@b.test')
  t.equal(tryParseForeignAddress('a@b\u00ad.test'), null, 'what is not seen is no part of an address to send to')
  t.equal(tryParseIncomingAddress('a@b\u00ad.test'), 'a@b.test', 'and is dropped where mail comes in')
  for (const wrong of [
    '',
    '@b.test',
    'a b@b.test',
    'a@',
    'a@b c',
    'a,b@b.test',
    '<a@b.test>',
    `${'x'.repeat(241)}@b.test`,
    'a\n@b.test',
  ]) {
    t.equal(tryParseForeignAddress(wrong), null, JSON.stringify(wrong))
  }
  t.end()
})

t.test('both forms of such a mailbox are one', (t) => {
  const bare = tryParseForeignAddress('a..b@b.test')
  t.equal(bare === null ? '' : localPartKey(bare), localPartKey(parseAddress('"A..b"@b.test')))
  t.end()
})
