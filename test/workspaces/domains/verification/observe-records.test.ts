/** What DNS has in the place of the records: the right values, others, nothing, or no answer. */
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../../src/base/mail/address.js'
import { buildDomain } from '../../../../src/workspaces/domains/new-domain.js'
import { observeRecords } from '../../../../src/workspaces/domains/verification/observe-records.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { zoneResolver } from '../../../helpers/dns/zone-resolver.js'

const names = { zone: 'zone.test', inbound_mx_host: 'mx.zone.test' }

async function observe(t: Test, zone: Parameters<typeof zoneResolver>[0]) {
  const { database } = await temporaryDatabase(t)
  const { read } = database
  const request = { workspaceId: 'ws_1', domain: parseDomainName('news.c.test'), forced: false, inbound: false, now: 0 }
  const { row } = await buildDomain(read, request)
  const { nameservers, records } = await observeRecords({ read, resolver: zoneResolver(zone), names }, row)
  return { nameservers, records: records.map(({ name, found, state }) => [name, state, ...found]) }
}

t.test('each record says what is there, and the zone who answers for it', async (t) => {
  t.same(
    await observe(t, {
      'c.test': { NS: ['amy.ns.cloudflare.com', 'bob.ns.cloudflare.com'] },
      'news.c.test': { mx: [[10, 'old.test']] },
      'posthorn.news.c.test': { CNAME: ['mail.zone.test'] },
      'dkim1._domainkey.news.c.test': { CNAME: ['elsewhere.test'] },
      '_dmarc.news.c.test': 'failure',
    }),
    {
      nameservers: ['amy.ns.cloudflare.com', 'bob.ns.cloudflare.com'],
      records: [
        ['posthorn.news.c.test', 'correct', 'mail.zone.test'],
        ['dkim1._domainkey.news.c.test', 'other', 'elsewhere.test'],
        ['dkim2._domainkey.news.c.test', 'missing'],
        ['news.c.test', 'other', '10 old.test'],
        ['_dmarc.news.c.test', 'unanswered'],
      ],
    },
  )
})

t.test('our MX and any DMARC policy are correct, and a zone without servers is no fault', async (t) => {
  const { nameservers, records } = await observe(t, {
    'news.c.test': { mx: [[10, 'MX.zone.test']] },
    '_dmarc.news.c.test': { TXT: ['v=DMARC1; p=reject'] },
  })
  t.same(nameservers, [])
  t.same(records.slice(-2), [
    ['news.c.test', 'correct', '10 MX.zone.test'],
    ['_dmarc.news.c.test', 'correct', 'v=DMARC1; p=reject'],
  ])
})
