/** Which hosts share a pace, and what survives a restart. */
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/base/storage/db/database.js'
import type { Host } from '../../../../src/outbound/delivery/hosts/destination.js'
import { pacesByChange, resetProvider } from '../../../../src/outbound/delivery/shaping/pace-store.js'
import { viewPace } from '../../../../src/outbound/delivery/shaping/pace-view.js'
import { Paces } from '../../../../src/outbound/delivery/shaping/paces.js'
import { quoteForAll } from '../../../../src/outbound/delivery/shaping/pause.js'
import { providerKeyOf } from '../../../../src/outbound/delivery/shaping/provider-key.js'
import type { SendResult } from '../../../../src/outbound/delivery/smtp/send-result.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { createVirtualTimer } from '../../../helpers/shaping/virtual-timer.js'
import { hostAt } from '../../../helpers/smtp/sink-client.js'

const mx = (name: string, more: Partial<Host> = {}): Host => hostAt({ port: 25 }, { mx: name, ...more })

t.test('hosts of one provider share a key', async (t) => {
  const keys: readonly (readonly [string, string])[] = [
    ['gmail-smtp-in.l.google.com', 'google'],
    ['aspmx.l.google.com', 'google'],
    ['mta5.am0.yahoodns.net', 'yahoo'],
    ['mx1.isp.test', 'isp.test'],
    ['mx2.mail.isp.test', 'isp.test'],
    ['mx.firm.co.uk', 'firm.co.uk'],
    ['localhost', 'localhost'],
    ['192.0.2.1', '192.0.2.1'],
    ['', ''],
    // Machines of strangers, whose replies are none of the provider.
    ['ec2-192-0-2-1.eu-west-1.compute.amazonaws.com', 'ec2-192-0-2-1.eu-west-1.compute.amazonaws.com'],
    ['mine-1f.elb.us-east-1.amazonaws.com', 'mine-1f.elb.us-east-1.amazonaws.com'],
    ['static.1.2.0.192.clients.your-server.de', 'static.1.2.0.192.clients.your-server.de'],
    ['vps-1f2e3d.vps.ovh.net', 'vps-1f2e3d.vps.ovh.net'],
    ['192.0.2.1.ip.secureserver.net', '192.0.2.1.ip.secureserver.net'],
    ['c-192-0-2-1.hsd1.ca.comcast.net', 'c-192-0-2-1.hsd1.ca.comcast.net'],
    ['a.duckdns.org', 'a.duckdns.org'],
    ['mx.a.duckdns.org', 'a.duckdns.org'],
    ['google.com.a.test', 'a.test'],
    // Who makes up names for his own hosts does not get a pace for each.
    ['x-192-0-2-1.clients.a.test', 'a.test'],
    // Hosts of the same providers.
    ['inbound-smtp.us-east-1.amazonaws.com', 'amazon'],
    ['mx1.mail.ovh.net', 'ovh'],
    ['www11.your-server.de', 'hetzner'],
    ['smtp.secureserver.net', 'godaddy'],
    ['mx1.comcast.net', 'comcast'],
    ['route1.mx.cloudflare.net', 'cloudflare'],
  ]
  for (const [name, key] of keys) t.equal(providerKeyOf(mx(name)), key, name)
  t.equal(providerKeyOf(mx('smtp.google.com', { isRouted: true, port: 587 })), 'smtp.google.com:587')
})

const blocked: SendResult = {
  kind: 'refused',
  stage: 'mail',
  reply: { code: 550, enhanced: '5.7.1', text: 'your address is blocked' },
}

async function pacesOf(t: Test, database: Database, wall: { now: number }): Promise<Paces> {
  const timer = createVirtualTimer()
  const log = pino({ level: 'error' }, { write: (line) => t.fail(line) })
  const { read, commit } = database
  const paces = new Paces({
    read,
    commit,
    node: database.node.name,
    log,
    timer,
    clock: () => wall.now,
    onRefused: () => undefined,
  })
  await paces.load()
  return paces
}

t.test('hosts and addresses of ours', async (t) => {
  const { database } = await temporaryDatabase(t)
  const paces = await pacesOf(t, database, { now: 0 })
  const one = paces.of(mx('gmail-smtp-in.l.google.com'))
  t.equal(paces.of(mx('alt1.gmail-smtp-in.l.google.com')), one)
  t.equal(paces.find('alt1.gmail-smtp-in.l.google.com'), one)
  t.not(paces.of({ ...mx('gmail-smtp-in.l.google.com'), source: '192.0.2.7' }), one)
  t.equal(paces.find('gmail-smtp-in.l.google.com'), one)
  t.equal(paces.find('unseen.google.com'), undefined)
  t.equal(paces.of(mx('relay.test', { isRouted: true })).state.window.size, Number.POSITIVE_INFINITY)
  await paces.stop()
  t.same(await pacesByChange(database.read, { limit: 10 }), [], 'without a refusal nothing is kept')
})

t.test('a pause and what was learned survive a restart, and end with a reset', async (t) => {
  const { database } = await temporaryDatabase(t)
  const wall = { now: Date.UTC(2026, 10, 21) }
  const paces = await pacesOf(t, database, wall)
  const control = paces.of(mx('mx1.isp.test'))
  control.judge(
    { ...blocked, reply: { code: 421, enhanced: '4.7.0', text: 'too many messages in this session' } },
    control.beginPassage(20),
  )
  control.judge(blocked, control.beginPassage(0))
  await paces.stop()
  const [row] = await pacesByChange(database.read, { limit: 10 })
  t.match(row && viewPace(row, wall.now), {
    provider: 'isp.test',
    source_address: null,
    sessions: 2,
    messages_per_session: 20,
    rate: null,
    state: 'paused',
    reason: 'isp.test blocks our address: 550 5.7.1 your address is blocked',
    until: new Date(wall.now + 60_000).toISOString(),
  })

  wall.now += 20_000
  const next = await pacesOf(t, database, wall)
  t.match(next.findPause([mx('mx2.isp.test')]), { kind: 'outage', until: wall.now + 40_000 })
  t.equal(next.of(mx('mx2.isp.test')).messagesPerSession, 20)
  t.equal(next.findPause([]), null)

  let roomFor = 0
  next.onRoom(() => {
    roomFor += 1
  })
  await next.reload()
  t.equal(roomFor, 0)
  await database.commit([resetProvider({ provider: 'isp.test' })])
  await next.reload()
  t.equal(next.findPause([mx('mx2.isp.test')]), null)
  t.equal(roomFor, 1)
  await next.stop()
  t.same(await pacesByChange(database.read, { limit: 10 }), [])
})

t.test('a pause that is over is probed after a restart', async (t) => {
  const { database } = await temporaryDatabase(t)
  const wall = { now: Date.UTC(2026, 10, 21) }
  const paces = await pacesOf(t, database, wall)
  const control = paces.of(mx('mx1.isp.test'))
  control.judge(blocked, control.beginPassage(0))
  await paces.stop()
  wall.now += 600_000
  const next = (await pacesOf(t, database, wall)).of(mx('mx1.isp.test'))
  t.equal(next.outage, null)
  next.startEntry()
  t.notOk(next.mayStart())
})

t.test('after the clock was set back no pause is longer than any, and a probe ends it', async (t) => {
  const { database } = await temporaryDatabase(t)
  const wall = { now: Date.UTC(2026, 10, 21) }
  const paces = await pacesOf(t, database, wall)
  const control = paces.of(mx('mx1.isp.test'))
  control.judge(blocked, control.beginPassage(0))
  await paces.stop()
  wall.now -= 600_000
  const next = await pacesOf(t, database, wall)
  const soon = next.of(mx('mx1.isp.test'))
  t.equal(next.findPause([mx('mx1.isp.test')])?.until, wall.now + 660_000)
  const reply = { code: 250, enhanced: '2.0.0', text: 'ok' }
  soon.judge({ kind: 'accepted', reply, dsnRelayed: false }, soon.beginPassage(0))
  t.equal(soon.outage, null)
  soon.judge(blocked, soon.beginPassage(0))
  await next.stop()
  wall.now -= 86_400_000
  t.equal((await pacesOf(t, database, wall)).of(mx('mx1.isp.test')).outage, null)
})

t.test('the words of a pause, which all see whose mail waits, have no address of another in them', async (t) => {
  const text = 'blocked: your address [192.0.2.7], after mail from <ann@a.test> to bob@b.test'
  const quoted = quoteForAll({ code: 550, enhanced: '5.7.1', text })
  t.equal(quoted, '550 5.7.1 blocked: your address [192.0.2.7], after mail from (address) to (address)')
  t.equal(quoteForAll({ code: 421, enhanced: null, text: 'x'.repeat(2_000) }).length, 400)
})
