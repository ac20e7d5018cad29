/** Names within the zone that a DNS provider has, for domains at and below a registered one. */
import t from 'tap'
import { placeRecord, zoneNameOf } from '../../../../src/workspaces/domains/verification/record-place.js'

t.test('a name is relative to the registered domain, not to the domain that sends', (t) => {
  const nameOf = (name: string, domain: string): string => placeRecord({ name }, domain).relative_name
  t.equal(nameOf('dkim1._domainkey.example.com', 'example.com'), 'dkim1._domainkey')
  t.equal(nameOf('example.com', 'example.com'), '@')
  t.equal(nameOf('_dmarc.news.example.co.uk', 'news.example.co.uk'), '_dmarc.news')
  t.equal(nameOf('news.example.co.uk', 'news.example.co.uk'), 'news')
  t.equal(nameOf('posthorn.a.b.c.test', 'a.b.c.test'), 'posthorn.a.b', 'a suffix that is on no list has one label')
  t.equal(zoneNameOf('news.example.co.uk'), 'example.co.uk')
  t.same(placeRecord({ name: 'a.example.com', value: 'b' }, 'example.com'), {
    ...{ name: 'a.example.com', value: 'b', relative_name: 'a' },
  })
  t.end()
})
