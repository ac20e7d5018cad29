/**
 * Other servers deliver mail: Postfix and Exim over STARTTLS, Knot answers for DNS, python3-dkim has signed and
 * sealed. Each check is seen with each of its results.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Authentication } from '../../src/base/mail/authentication-results.js'
import { formatMessageDate } from '../../src/base/mail/message-date.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { restClient } from '../helpers/http/rest-client.js'
import { rsaKey } from '../helpers/mail/sign-message.js'
import { eximToMx, skipWithoutExim } from '../helpers/programs/exim.js'
import { startKnot } from '../helpers/programs/knot.js'
import { startPostfixToMx } from '../helpers/programs/postfix.js'
import { python, runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { waitUntil } from '../helpers/wait-until.js'
import { configure, createInstallation, type Daemon, runForJson, serve } from './support/program.js'

const skip =
  skipWithout('knotd') ||
  skipWithoutModule([python, '-c', 'import authres, dkim'], 'python3-dkim with python3-authres') ||
  (process.getuid?.() === 0 ? false : 'the peers can only be started by root')

const key = rsaKey(2048)
const otherKey = rsaKey(2048)

/** Knot cannot load broken.test. */
const records = [
  ...['2.0.0.127', '3.0.0.127'].map((name) => `${name}.in-addr.arpa. PTR mta.pass.test.`),
  'mta.pass.test. A 127.0.0.2',
  'mta.pass.test. A 127.0.0.3',
  'pass.test. TXT "v=spf1 include:_spf.pass.test -all"',
  '_spf.pass.test. TXT "v=spf1 a:mta.pass.test ?all"',
  ...dkimRecord('s._domainkey.pass.test.', key.record),
  '_dmarc.pass.test. TXT "v=DMARC1; p=reject; adkim=s; aspf=s"',
  'fail.test. TXT "v=spf1 mx -all"',
  'fail.test. MX 10 mx.fail.test.',
  'mx.fail.test. A 192.0.2.1',
  ...dkimRecord('s._domainkey.fail.test.', otherKey.record),
  '_dmarc.fail.test. TXT "v=DMARC1; p=quarantine"',
  'strict.test. TXT "v=spf1 -all"',
  '_dmarc.strict.test. TXT "v=DMARC1; p=reject"',
  'none.test. A 192.0.2.1',
]

/** A string of a record has at most 255 octets. */
function dkimRecord(name: string, text: string): readonly string[] {
  return [`${name} TXT ${(`v=DKIM1; ${text}`.match(/.{1,200}/g) ?? []).map((part) => `"${part}"`).join(' ')}`]
}

function letterFrom(name: string, domain: string): string {
  const header = [
    `Authentication-Results: ${domain}; spf=pass smtp.mailfrom=${domain}`,
    `From: Ann <${name}@${domain}>`,
    'To: Info <info@home.test>',
    `Subject: from ${domain}`,
    `Date: ${formatMessageDate(Date.now())}`,
    `Message-ID: <1@${domain}>`,
  ]
  return [...header, '', 'How do you do?', ''].join('\r\n')
}

/** Messages by domain, with the line ends that sendmail needs; those of none.test and strict.test are unsigned. */
async function letters(t: Test, name: string): Promise<ReadonlyMap<string, string>> {
  const file = join(temporaryFolder(t), 'key.pem')
  writeFileSync(file, key.privateKey.export({ type: 'pkcs1', format: 'pem' }))
  const domains = ['pass.test', 'fail.test', 'none.test', 'broken.test', 'strict.test']
  const requests = domains.map((domain) => {
    const by = ['none.test', 'strict.test'].includes(domain) ? null : { domain, selector: 's' }
    return JSON.stringify({ message: letterFrom(name, domain), key: file, dkim: by, arc: by })
  })
  const { stdout, stderr } = await runProgram([python, 'test/fixtures/dkim-sign.py'], requests.join('\n'))
  const signed = stdout.trim().split('\n')
  if (signed.length !== domains.length) throw new Error(stderr)
  return new Map(
    domains.map((domain, at) => [domain, String(JSON.parse(signed[at] ?? '')).replaceAll('\r\n', '\n')] as const),
  )
}

interface Receiver {
  readonly daemon: Daemon
  readonly caFile: string
  /** The processed mail of this author; and its header, unfolded. */
  readonly received: (from: string) => Promise<{ readonly email: Email; readonly header: string }>
}

interface Email {
  readonly authentication: Authentication
}

async function receiver(t: Test): Promise<Receiver> {
  const knot = await startKnot(t, records, ['broken.test'])
  const installed = createInstallation(t, 1)
  const owner = await runForJson(installed, 'setup', '--workspace', 'Peers', '--email', 'owner@home.test')
  await runForJson(installed, 'domain', 'add', 'home.test', '--inbound', '--force')
  configure(installed, 1, `[dns]\nservers = ["${knot.address}"]`)
  const daemon = await serve(t, installed)
  const caFile = join(installed.dataDir, 'tls', 'cert.pem')
  const api = [{ kind: 'tls', host: '127.0.0.1', port: daemon.apiPort } as const]
  const rest = restClient(
    t,
    { api, tls: { cert: readFileSync(caFile, 'utf8'), key: '', caFile } },
    String(owner['api_key']),
  )
  return {
    daemon,
    caFile,
    received: async (from) => {
      const { id } = await waitUntil(`mail from ${from}`, async () => {
        const list = await rest('GET', `/v1/inbound?status=processed&from=${from}`)
        return list.json<{ data: { id: string }[] }>().data[0]
      })
      const raw = (await rest('GET', `/v1/inbound/${id}/raw`)).text
      const header = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ')
      return { email: (await rest('GET', `/v1/inbound/${id}`)).json<Email>(), header }
    },
  }
}

/** The expected results for the mail of each domain. */
const expected = {
  'pass.test': { spf: 'pass', dkim: ['pass'], dmarc: 'pass', arc: 'pass' },
  'fail.test': { spf: 'fail', dkim: ['fail'], dmarc: 'fail', arc: 'fail' },
  'none.test': { spf: 'none', dkim: [], dmarc: 'none', arc: 'none' },
  'broken.test': { spf: 'temperror', dkim: ['temperror'], dmarc: 'temperror', arc: 'temperror' },
} as const

/** Gives a message to a peer, which delivers it to us. */
interface Peer {
  readonly name: string
  readonly address: string
  readonly hand: (from: string, message: string) => Promise<unknown>
}

async function checkPeer(t: Test, { received }: Receiver, peer: Peer): Promise<void> {
  const signed = await letters(t, peer.name)
  for (const [domain, found] of Object.entries(expected)) {
    const from = `${peer.name}@${domain}`
    await peer.hand(from, signed.get(domain) ?? '')
    const { email, header } = await received(from)
    const { authentication } = email
    const { spf, dkim, dmarc, arc } = authentication
    t.same(
      { spf: spf.result, dkim: dkim.map(({ result }) => result), dmarc: dmarc.result, arc: arc.result },
      found,
      `${domain}: ${JSON.stringify(authentication)}`,
    )
    t.match(email, { subject: `from ${domain}`, authentication: { iprev: { result: 'pass' } } })
    const [path = '', results = '', spfField = '', trace = ''] = header.split('\r\n')
    t.equal(path, `Return-Path: <${from}>`)
    t.match(results, `Authentication-Results: localhost; spf=${found.spf}`)
    t.match(spfField, `Received-SPF: ${found.spf}`)
    t.ok(trace.includes(`([${peer.address}]) by localhost with ESMTPS (TLSv1.`), trace)
  }
  await peer.hand(`${peer.name}@strict.test`, signed.get('strict.test') ?? '')
}

t.test('other servers deliver mail over STARTTLS', { skip }, async (t) => {
  const mx = await receiver(t)

  await t.test('Postfix', { skip: skipWithout('postfix') }, async (t) => {
    const { config, log } = await startPostfixToMx(t, { port: mx.daemon.mxPort, caFile: mx.caFile })
    const send = ['sendmail', '-C', config, '-i', '-f']
    const hand: Peer['hand'] = (from, message) => runProgram([...send, from, 'info@home.test'], message)
    await checkPeer(t, mx, { name: 'postfix', address: '127.0.0.2', hand })
    const refused = await waitUntil('the refusal', () => log.find((line) => line.includes('status=bounced')))
    t.match(refused, /dsn=5\.7\.1, status=bounced .*550 5\.7\.1 .*strict\.test/)
    t.match(log.join('\n'), /Verified TLS connection established to localhost\[127\.0\.0\.1\]/)
  })

  await t.test('Exim', { skip: skipWithoutExim() }, async (t) => {
    const { deliver, log } = eximToMx(t, mx.daemon.mxPort)
    const hand: Peer['hand'] = (from, message) => deliver(from, 'info@home.test', message)
    await checkPeer(t, mx, { name: 'exim', address: '127.0.0.3', hand })
    t.match(log(), /=> info@home\.test .* X=TLS1\.[23]/)
    t.match(log(), /\*\* info@home\.test .*550 5\.7\.1 .*strict\.test/)
  })
})
