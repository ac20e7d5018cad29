import { spawnSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import t from 'tap'
import { scanHeader, spliceHeader } from '../../../../src/base/mail/header-fields.js'
import { generateDkimKey, importDkimKey } from '../../../../src/workspaces/domains/dkim/key.js'
import { signDkim } from '../../../../src/workspaces/domains/dkim/sign.js'
import { type OddMessage, oddMessages } from '../../../fixtures/odd-messages.js'

const signedAt = Date.UTC(2024, 0, 1)
const pair = await generateDkimKey()
const key = { domain: 'example.test', selector: 'dkim1', keyObject: createPrivateKey(pair.privateKey) }

/** The signed message as it goes over the wire: SMTP ends the last line. */
function signRaw(raw: Buffer, keyObject: KeyObject = key.keyObject): Buffer {
  const field = signDkim(raw, { ...key, keyObject }, signedAt)
  const end = raw.toString('latin1').endsWith('\r\n') ? '' : '\r\n'
  return Buffer.concat([Buffer.from(field), raw, Buffer.from(end)])
}

/** The verdict of mailauth on the only signature: `pass`, `fail`, `neutral`, with its reason. */
async function verdict(message: Buffer, record = pair.publicRecord): Promise<string> {
  const asked: string[] = []
  const resolver = async (name: string): Promise<string[][]> => {
    asked.push(name)
    return [[record]]
  }
  const { results } = await dkimVerify(message, { resolver, strict: true })
  const status = results[0]?.status
  if (results.length !== 1 || asked.join() !== 'dkim1._domainkey.example.test') return 'not looked up'
  return status?.result === 'pass' ? 'pass' : `${status?.result}: ${JSON.stringify(status?.comment)}`
}

function message(...lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\r\n`).join(''))
}

const plain = message('From: a@example.test', 'To: b@example.net', 'Subject: hello', '', 'text')

t.test('the field has the tags, folded into short lines', async (t) => {
  const field = signDkim(plain, key, signedAt)
  t.match(
    field,
    /^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed;\r\n d=example\.test;\r\n s=dkim1; t=1704067200;/,
  )
  t.match(field, /\r\n h=from:to:subject:from;\r\n bh=[A-Za-z0-9+/]{43}=;\r\n b=/)
  t.ok(field.endsWith('\r\n'))
  t.notMatch(field, /[;\s][ilx]=/, 'no identity, no length, no end')
  for (const line of field.split('\r\n')) t.ok(line.length <= 78, line)
})

t.test('long lists of names are folded after a colon', async (t) => {
  const raw = message(
    'From: a@example.test',
    ...Array.from({ length: 20 }, () => 'Content-Transfer-Encoding: 7bit'),
    '',
    'x',
  )
  const field = signDkim(raw, key, signedAt)
  for (const line of field.split('\r\n')) t.ok(line.length <= 78, line)
  t.equal(field.match(/content-transfer-encoding/g)?.length, 20)
  t.equal(await verdict(signRaw(raw)), 'pass')
})

t.test('only the listed fields are signed, in any case', async (t) => {
  const raw = message(
    ...['FROM', 'To', 'cc', 'Subject', 'Date', 'Message-Id', 'MIME-Version', 'Content-Type', 'Reply-To', 'In-Reply-To'],
    ...['Content-Transfer-Encoding', 'References', 'List-Unsubscribe', 'List-Unsubscribe-Post', 'Received', 'X-Other'],
  )
  const field = signDkim(Buffer.from(raw.toString().replaceAll('\r\n', ': x\r\n')), key, signedAt)
  const names = /h=([^;]+)/.exec(field)?.[1]?.replace(/\s/g, '')
  t.equal(
    names,
    'from:to:cc:subject:date:message-id:reply-to:in-reply-to:references:mime-version:content-type:' +
      'content-transfer-encoding:list-unsubscribe:list-unsubscribe-post:from',
  )
})

t.test('a change of signed content is detected', async (t) => {
  const whole = signRaw(plain).toString()
  t.equal(await verdict(Buffer.from(whole)), 'pass')
  const changes: Record<string, string> = {
    'another body': whole.replace('text', 'test'),
    'a second From on top': `From: evil@example.net\r\n${whole}`,
    'a second From below': whole.replace('\r\n\r\n', '\r\nFrom: evil@example.net\r\n\r\n'),
    'another subject': whole.replace('Subject: hello', 'Subject: hallo'),
    'another date of signing': whole.replace('t=1704067200', 't=1704067201'),
  }
  for (const [name, changed] of Object.entries(changes)) {
    t.not(changed, whole)
    t.not(await verdict(Buffer.from(changed)), 'pass', name)
  }
})

t.test('a change that relaxed canonicalization allows is not detected', async (t) => {
  const whole = signRaw(plain).toString()
  t.equal(await verdict(Buffer.from(whole.replace('Subject: hello', 'SUBJECT:\r\n\t hello  '))), 'pass')
  t.equal(await verdict(Buffer.from(`${whole}\r\n \r\n`)), 'pass')
  t.equal(await verdict(Buffer.from(`X-Added: on the way\r\n${whole}`)), 'pass')
})

t.test('bodies of every shape verify', async (t) => {
  const bodies = [
    ...['', '\r\n', '\r\n\r\n', ' ', ' \r\n', '\t\r\n \r\n', 'a', 'a\r\n', 'a ', 'a\t\r\n\r\n', '\r\n\r\na', ' a\r\n'],
    ...['a  b\r\n', 'a\tb\r\n', 'a \t b \r\nc', 'a\r\n \r\nb\r\n', '\t\t\ta', 'ä\xa0 \r\n', `${'x '.repeat(300)}\r\n`],
  ]
  for (const body of bodies) {
    const raw = Buffer.from(`From: a@example.test\r\n\r\n${body}`)
    t.equal(await verdict(signRaw(raw)), 'pass', JSON.stringify(body))
  }
})

t.test('a body larger than the hash window verifies', async (t) => {
  for (const text of ['a line \t of  text, with blanks \r\n', `${'A'.repeat(76)}\r\n`, 'one line without any end ']) {
    const raw = Buffer.from(`From: a@example.test\r\n\r\n${text.repeat(Math.ceil(3_000_000 / text.length))}`)
    t.equal(await verdict(signRaw(raw)), 'pass')
  }
})

t.test('a header without an empty line at its end verifies once it is spliced', async (t) => {
  const raw = message('From: a@example.test', 'no field at all', 'Subject: body', '', 'text')
  const fixed = spliceHeader(raw, scanHeader(raw), { prepend: 'Received: by us\r\n' })
  t.equal(await verdict(signRaw(fixed)), 'pass')
})

const corpus = oddMessages(600, 20_240_101)
const wired = corpus.map((odd) => ({ odd, whole: signRaw(odd.raw) }))

t.test('mailauth verifies 600 odd messages', async (t) => {
  const failed: string[] = []
  for (const { odd, whole } of wired) {
    const result = await verdict(whole)
    if (result !== 'pass') failed.push(`${odd.name}: ${result}: ${excerptOf(odd)}`)
  }
  t.strictSame(failed, [])
})

const python = '/usr/bin/python3'
const hasDkimpy = spawnSync(python, ['-c', 'import dkim']).status === 0

t.test('python3-dkim verifies them too', { skip: hasDkimpy ? false : 'python3-dkim is not installed' }, async (t) => {
  const common = wired.filter(({ odd }) => odd.common)
  const tampered = signRaw(plain).toString().replace('text', 'test')
  const questions = [...common.map(({ whole }) => whole), Buffer.from(tampered)].map((whole) =>
    JSON.stringify({ raw: whole.toString('base64'), record: pair.publicRecord }),
  )
  const input = `${questions.join('\n')}\n`
  const run = spawnSync(python, [join('test', 'fixtures', 'dkim-verify.py')], { input, encoding: 'utf8' })
  const answers = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as boolean | string)
  const failed = common.flatMap(({ odd }, at) =>
    answers[at] === true ? [] : [`${odd.name}: ${answers[at]}: ${excerptOf(odd)}`],
  )
  t.ok(common.length >= 400, `${common.length} messages`)
  t.strictSame(failed, [])
  t.equal(answers.at(-1), false, 'and it refuses a changed one')
})

const opendkim = '/usr/sbin/opendkim'
const hasOpendkim = spawnSync(opendkim, ['-V']).status === 0

t.test(
  'OpenDKIM verifies those with one true From',
  { skip: hasOpendkim ? false : 'OpenDKIM is not installed' },
  async (t) => {
    const from = Buffer.from('From: a@example.test\r\n')
    const odd = corpus.filter(({ common }) => common).slice(0, 150)
    const wholes = odd.map(({ raw }) => signRaw(Buffer.concat([from, Buffer.from(withoutFrom(raw), 'latin1')])))
    const files = Object.fromEntries(wholes.map((whole, at) => [`${at}.eml`, whole]))
    const keys = `dkim1._domainkey.example.test ${pair.publicRecord}\n`
    const folder = t.testdir({ ...files, keys, conf: 'Mode v\nSyslog no\nTestPublicKeys keys\n' })
    const input = ['-v', '-x', 'conf', '-t', Object.keys(files).join()]
    const { stdout, stderr } = spawnSync(opendkim, input, { cwd: folder, encoding: 'utf8' })
    t.equal(stdout.match(/ succeeded$/gm)?.length, odd.length, stdout + stderr)
  },
)

t.test('mailauth verifies any message that fast-check generates', async (t) => {
  const text = fc.string({
    unit: fc.constantFrom(' ', '\t', 'a', 'B', 'ü', '\r\n', '\r\n ', '.', '=', ';', ':'),
    maxLength: 60,
  })
  const value = text.map((value) => value.replace(/\r\n(?![ \t])/g, ''))
  const name = fc.constantFrom('From', 'To', 'subject', 'X-y', 'REFERENCES', 'Content-Type', 'content-type ')
  const fields = fc.array(fc.tuple(name, value), { maxLength: 8 })
  const property = fc.asyncProperty(fields, text, async (fields, body) => {
    const header = fields.map(([name, value]) => `${name}:${value}\r\n`).join('')
    const raw = Buffer.from(`From: a@example.test\r\n${header}\r\n${body}`)
    t.equal(await verdict(signRaw(raw)), 'pass', JSON.stringify(raw.toString()))
  })
  await fc.assert(property, { numRuns: 150, seed: 7 })
})

t.test('a new key is RSA with 2048 bits in PKCS#8', async (t) => {
  t.equal(pair.bits, 2048)
  t.match(pair.privateKey, /^-----BEGIN PRIVATE KEY-----\n/)
  t.match(pair.publicRecord, /^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]{390,}={0,2}$/)
})

t.test('keys are imported from PKCS#1 and PKCS#8, from 1024 bits on', async (t) => {
  t.strictSame(importDkimKey(pair.privateKey), pair)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const imported = importDkimKey(privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  t.equal(imported.bits, 1024)
  t.equal(imported.privateKey, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  t.equal(await verdict(signRaw(plain, createPrivateKey(imported.privateKey)), imported.publicRecord), 'pass')
})

t.test('keys that cannot sign for DKIM are refused', async (t) => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const small = generateKeyPairSync('rsa', { modulusLength: 768 }).privateKey
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const refused: Record<string, string | Buffer> = {
    'not a private key': rsa.publicKey.export({ type: 'spki', format: 'pem' }),
    'has 768 bits': small.export({ type: 'pkcs8', format: 'pem' }),
    'of type ed25519': ed25519.export({ type: 'pkcs8', format: 'pem' }),
    'is encrypted': rsa.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }),
    'not a private key in PEM': 'hello',
  }
  for (const [words, pem] of Object.entries(refused)) {
    t.throws(() => importDkimKey(pem.toString()), { kind: 'invalid-parameter', message: new RegExp(words) }, words)
  }
})

/** OpenDKIM ignores messages that have several authors. */
function withoutFrom(raw: Buffer): string {
  return raw.toString('latin1').replace(/^from:/gim, 'X-Author:')
}

function excerptOf(odd: OddMessage): string {
  return JSON.stringify(odd.raw.toString('latin1').slice(0, 3000))
}
