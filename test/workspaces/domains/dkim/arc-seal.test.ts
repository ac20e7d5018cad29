/** ARC sets: what they contain, and that mailauth and python3-dkim verify chains of them. */
import { spawnSync } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { authenticate } from 'mailauth'
import t from 'tap'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { type ArcSet, countArcSets, sealArc } from '../../../../src/workspaces/domains/dkim/arc-seal.js'
import { generateDkimKey } from '../../../../src/workspaces/domains/dkim/key.js'
import { signDkim } from '../../../../src/workspaces/domains/dkim/sign.js'
import { SigningThread } from '../../../../src/workspaces/domains/dkim/signing-thread.js'

const now = Date.UTC(2026, 0, 1)
const pair = await generateDkimKey()
const key = { domain: 'example.test', selector: 'dkim1', keyObject: createPrivateKey(pair.privateKey) }
const results = 'mx.example.test; spf=pass smtp.mailfrom=b.test; dkim=pass header.d=b.test; dmarc=none; arc=none'
const plain = Buffer.from('From: a@b.test\r\nTo: c@d.test\r\nSubject: hello  there\r\nDate: today\r\n\r\ntext \r\n\r\n')

function seal(raw: Buffer, more: Partial<ArcSet> = {}): Buffer {
  const instance = countArcSets(raw, scanHeader(raw)) + 1
  const set: ArcSet = { instance, validation: instance === 1 ? 'none' : 'pass', results, ...more }
  return Buffer.concat([Buffer.from(sealArc(raw, key, now, set)), raw])
}

t.test('results that were folded with tabs are words again', async (t) => {
  const set: ArcSet = {
    instance: 1,
    validation: 'none',
    results: 'mx.test; spf=pass\tsmtp.mailfrom=b.test; dmarc=p\x01',
  }
  t.match(sealArc(plain, key, now, set), /mx\.test; spf=pass smtp\.mailfrom=b\.test; dmarc=p\?\r\n/)
})

async function verdict(raw: Buffer): Promise<string | undefined> {
  const resolver = async (): Promise<string[][]> => [[pair.publicRecord]]
  const found = await authenticate(raw, { ip: '127.0.0.1', helo: 'x', mta: 'x', sender: 'a@b.test', resolver })
  return found.arc === false ? 'none' : found.arc.status.result
}

function add(raw: Buffer, field: string): Buffer {
  return Buffer.concat([Buffer.from(field), raw])
}

const chains = [1, 2, 3, 7].map((sets) => {
  let raw: Buffer = add(plain, signDkim(plain, key, now))
  for (let hop = 1; hop <= sets; hop++) raw = seal(add(raw, `Received: from hop${hop}\r\n`))
  return raw
})
const long = Buffer.concat([plain, Buffer.from('0123456789abcdef \r\n'.repeat(30_000))])
const tampered = Buffer.from(chains[1]?.toString().replace('hello', 'jello') ?? '')

t.test('the fields, their order and their tags', async (t) => {
  const fields = sealArc(plain, key, now, { instance: 1, validation: 'none', results })
  t.match(fields, /^ARC-Seal: i=1; a=rsa-sha256; t=1767225600; cv=none;\r\n d=example\.test; s=dkim1;\r\n b=/)
  t.match(fields, /\r\nARC-Message-Signature: i=1; a=rsa-sha256; c=relaxed\/relaxed;\r\n d=example\.test;/)
  t.match(fields, /\r\nARC-Authentication-Results: i=1;\r\n mx\.example\.test; spf=pass /)
  for (const line of fields.split('\r\n')) t.ok(line.length <= 100, line)
})

t.test('mailauth verifies chains of several sets, and refuses changed ones', async (t) => {
  for (const raw of chains) t.equal(await verdict(raw), 'pass')
  t.equal(await verdict(tampered), 'fail', 'the message was changed')
  const removed = Buffer.from(chains[2]?.toString().replace(/ARC-Seal: i=2[\s\S]*?(?=ARC-)/, '') ?? '')
  t.equal(await verdict(removed), 'fail', 'a seal is missing')
  t.equal(await verdict(plain), 'none')
})

t.test('the thread seals small and large messages alike', async (t) => {
  const thread = new SigningThread()
  t.teardown(() => thread.stop())
  for (const raw of [plain, long]) {
    const field = await thread.seal(raw, key, now, { instance: 1, validation: 'none', results })
    t.equal(field, sealArc(raw, key, now, { instance: 1, validation: 'none', results }))
    t.equal(await verdict(add(raw, field)), 'pass')
    t.equal(await thread.sign(raw, key, now), signDkim(raw, key, now), 'and signs as before')
  }
})

t.test('the number of sets is read wherever the tag stands', async (t) => {
  const of = (text: string): number => countArcSets(Buffer.from(text), scanHeader(Buffer.from(text)))
  t.equal(of('ARC-Seal: a=rsa-sha256; i=3; cv=pass\r\n\r\n'), 3)
  t.equal(of('ARC-Seal: i = 12 ; cv=pass\r\nARC-Seal:i=4\r\n\r\n'), 12)
  t.equal(of('ARC-Seal: i=x\r\nARC-Message-Signature: i=9\r\n\r\n'), 0)
})

const python = '/usr/bin/python3'
const hasDkimpy = spawnSync(python, ['-c', 'import dkim']).status === 0

t.test('python3-dkim verifies them too', { skip: hasDkimpy ? false : 'python3-dkim is not installed' }, async (t) => {
  const questions = [...chains, tampered].map((raw) =>
    JSON.stringify({ raw: raw.toString('base64'), record: pair.publicRecord }),
  )
  const input = `${questions.join('\n')}\n`
  const run = spawnSync(python, [join('test', 'fixtures', 'arc-verify.py')], { input, encoding: 'utf8' })
  const answers = run.stdout.trim().split('\n')
  t.same(answers, [...chains.map(() => '"pass"'), '"fail"'], run.stderr)
})
