/** The zone listener beside other programs: dig, drill, Unbound, Knot. */
import t from 'tap'
import { openZoneServer, ZONE } from '../../helpers/dns/zone-server.js'
import { freePort } from '../../helpers/free-port.js'
import { startSecondary } from '../../helpers/programs/knot.js'
import { runProgram } from '../../helpers/programs/run-program.js'
import { skipWithout } from '../../helpers/programs/skip-without.js'
import { startUnbound } from '../../helpers/programs/unbound.js'

async function dig(port: number, ...words: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runProgram(['dig', '@127.0.0.1', '-p', `${port}`, '+tries=1', ...words])
  if (status !== 0) throw new Error(`dig: ${stdout}${stderr}`)
  return stdout
}

t.test('dig', { skip: skipWithout('dig') }, async (t) => {
  const { port, key, errors, serial } = await openZoneServer(t)
  const digAt = (name: string, type: string, ...more: string[]): Promise<string> =>
    dig(port, '+norecurse', ...more, name, type)

  const whole = await digAt(key.name, 'TXT')
  t.match(whole, /status: NOERROR.*\n;; flags: qr aa; QUERY: 1, ANSWER: 1/)
  t.equal(/ TXT (".*)/.exec(whole.replaceAll('\t', ' '))?.[1]?.replaceAll(/" "|"/g, ''), key.text)
  t.match(await digAt(key.name, 'TXT', '+noedns', '+ignore'), /flags: qr aa; QUERY: 1, ANSWER: 1/, 'in 512 octets')
  t.match(await digAt(key.name, 'TXT', '+tcp'), /status: NOERROR/)
  t.match(await digAt(ZONE, 'SOA', '+short'), `ns.${ZONE}. postmaster.${ZONE}. ${await serial()} 900 300 1209600 300\n`)
  t.match(await digAt(ZONE, 'MX', '+short'), `10 mx.${ZONE}.\n`)
  t.match(await digAt(ZONE, 'AAAA', '+short'), '2001:db8::1\n')
  t.match(await digAt(`nothing.${ZONE}`, 'A'), /status: NXDOMAIN[\s\S]*AUTHORITY SECTION:\n.*\t300\tIN\tSOA/)
  t.match(await digAt(`_domainkey.${ZONE}`, 'A'), /status: NOERROR[\s\S]*AUTHORITY: 1[\s\S]*\tSOA/)
  t.match(await digAt('example.com', 'A'), /status: REFUSED/)
  t.match(await digAt(ZONE, 'A', '+edns=1', '+noednsneg'), /status: BADVERS/)
  t.match(await dig(port, ZONE, 'A'), /recursion requested but not available/)
  t.notMatch(await digAt(ZONE, 'A'), /WARNING|malformed/i)
  const transferred = await dig(port, ZONE, 'AXFR', '+onesoa')
  t.match(transferred, new RegExp(`^${key.name.replaceAll('.', '\\.')}\\.\\s`, 'm'))
  t.match(transferred, /XFR size: \d+ records/)
  t.match(await dig(port, `mx.${ZONE}`, 'AXFR'), /Transfer failed/, 'not a zone')
  t.same(errors, [])
})

t.test('drill', { skip: skipWithout('drill') }, async (t) => {
  const { port, key } = await openZoneServer(t)
  const drill = async (...words: string[]): Promise<string> =>
    (await runProgram(['drill', '-p', `${port}`, ...words, '@127.0.0.1'])).stdout
  const [first = ''] = key.text.match(/.{255}/) ?? []
  t.match(await drill(key.name, 'TXT'), `"${first}" "${key.text.slice(255)}"`)
  t.match(await drill('-t', ZONE, 'NS'), `ns.${ZONE}.\t3600\tIN\tA\t192.0.2.1`, 'over TCP, with its address')
})

t.test(
  'Unbound accepts the answers, and names in mixed case are echoed',
  { skip: skipWithout('unbound') },
  async (t) => {
    const { port, key } = await openZoneServer(t)
    const unbound = await startUnbound(t, { zones: { [ZONE]: port } })
    t.equal((await dig(unbound.port, key.name, 'TXT', '+short')).replaceAll(/" "|"/g, ''), `${key.text}\n`)
    t.match(await dig(unbound.port, `posthorn.${ZONE}`, 'A'), /status: NXDOMAIN/)
    t.match(await dig(unbound.port, ZONE, 'MX', '+short'), `10 mx.${ZONE}.`)
  },
)

t.test('Knot transfers the zone, and again after a NOTIFY', { skip: skipWithout('knotd') }, async (t) => {
  const knotPort = await freePort()
  const { database, port, serial, key } = await openZoneServer(t, [`127.0.0.1:${knotPort}`])
  const knot = await startSecondary(t, knotPort, ZONE, port)
  await knot.waitForSerial(await serial())
  const at = (name: string): Promise<string> => dig(knot.port, name, 'TXT', '+short')
  t.equal((await at(key.name)).replaceAll(/" "|"/g, ''), `${key.text}\n`)
  await database.commit([{ sql: `update dkim_keys set public_record = 'v=DKIM1; p='`, parameters: [] }])
  await knot.waitForSerial(await serial())
  t.equal(await at(key.name), '"v=DKIM1; p="\n')
})

/** What matters of an answer of dig: code and flags, and its records sorted by their text. */
function gist(answer: string): readonly string[] {
  const [, code = ''] = /status: (\w+)/.exec(answer) ?? []
  const [, flags = ''] = /;; flags: ([\w ]*);/.exec(answer) ?? []
  const sections = answer.split('\n;; ').slice(1)
  const digAt = sections.filter((section) => /^(ANSWER|AUTHORITY) SECTION/.test(section))
  return [code, flags, ...digAt.map((section) => section.trim().replaceAll(/\s+/g, ' '))]
}

t.test(
  'the listener and its copy at Knot give the same answers',
  { skip: skipWithout('knotd') || skipWithout('dig') },
  async (t) => {
    const knotPort = await freePort()
    const { port, serial, key } = await openZoneServer(t, [`127.0.0.1:${knotPort}`])
    const knot = await startSecondary(t, knotPort, ZONE, port)
    await knot.waitForSerial(await serial())
    const label = key.name.slice('dkim1.'.length)
    const questions = [
      ...['SOA', 'NS', 'A', 'AAAA', 'MX', 'TXT', 'CAA', 'DS', 'SRV'].map((type) => [ZONE, type]),
      ...[key.name, label, `x.${label}`, `_domainkey.${ZONE}`, `_dmarc.${ZONE}`].map((name) => [name, 'TXT']),
      ...[`mail.${ZONE}`, `MX.${ZONE}`, `nothing.${ZONE}`, `x.mx.${ZONE}`, `_tcp.${ZONE}`, 'elsewhere.test'].map(
        (name) => [name, 'A'],
      ),
      [ZONE, 'A', '-c', 'CH'],
    ]
    for (const [name = '', type = '', ...more] of questions) {
      const ask = (at: number): Promise<string> =>
        dig(at, '+norecurse', '+noedns', '+noall', '+comments', '+answer', '+authority', ...more, name, type)
      t.same(gist(await ask(port)), gist(await ask(knot.port)), `${name} ${type} ${more}`)
    }
  },
)

t.test('the listener serves IPv6 addresses', { skip: skipWithout('dig') }, async (t) => {
  const { listener } = await openZoneServer(t, [], '::1')
  const [endpoint] = listener.endpoints
  t.equal(endpoint?.host, '::1')
  const words = ['dig', '@::1', '-p', `${endpoint?.port}`, '+short', '+norecurse']
  for (const way of ['+notcp', '+tcp']) {
    t.equal((await runProgram([...words, way, `mx.${ZONE}`, 'A'])).stdout, '192.0.2.1\n', way)
  }
})
