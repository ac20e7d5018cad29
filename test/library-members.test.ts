/**
 * Members of libraries on which src/ relies although their documentation does not promise them, each by name: when a
 * new version takes one away, its test says which. docs/decisions/ says why each is used.
 *
 * smtp-server has a test of its own, beside its adapter.
 */

import { arc } from 'mailauth/lib/arc/index.js'
import { DkimVerifier } from 'mailauth/lib/dkim/dkim-verifier.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
import { getPublicKey, toALabel } from 'mailauth/lib/tools.js'
import addressparser from 'nodemailer/lib/addressparser'
import MailComposer from 'nodemailer/lib/mail-composer'
import { detectMimeType, encodeWord, quoteString } from 'nodemailer/lib/mime-funcs'
import { encode, wrap } from 'nodemailer/lib/qp'
import smpp from 'smpp'
import t from 'tap'

/** The members of `value`, inherited ones too, that are not of the type they should have. */
function missingMembers(value: object, members: Readonly<Record<string, string>>): readonly string[] {
  const of = value as Readonly<Record<string, unknown>>
  return Object.entries(members)
    .filter(([name, type]) => typeof of[name] !== type)
    .map(([name, type]) => `${name}: ${typeof of[name]}, expected ${type}`)
}

t.test('nodemailer/lib/mime-funcs encodes words, quotes phrases and knows types of files', async (t) => {
  t.equal(encodeWord('Grüße', 'Q', 52), '=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=')
  t.equal(quoteString('a, b'), '"a, b"')
  t.equal(detectMimeType('a.pdf'), 'application/pdf')
  t.equal(detectMimeType('a.no-such-ending'), 'application/octet-stream')
})

t.test('nodemailer/lib/qp encodes quoted-printable and wraps it at 76 characters', async (t) => {
  t.equal(encode('ä='), '=C3=A4=3D')
  t.ok(
    wrap('a'.repeat(200))
      .split('\r\n')
      .every((line) => line.length <= 76),
  )
})

t.test('nodemailer/lib/addressparser returns addresses with their names', async (t) => {
  t.match(addressparser('A <a@b.test>, c@d.test'), [
    { name: 'A', address: 'a@b.test' },
    { name: '', address: 'c@d.test' },
  ])
})

t.test('the tree of nodemailer/lib/mail-composer has the members that compose-message writes out', async (t) => {
  const tree = new MailComposer({
    text: 'a',
    attachments: [{ filename: 'a.bin', content: Buffer.from('b') }],
  }).compile()
  const node = { buildHeaders: 'function', getTransferEncoding: 'function', childNodes: 'object' }
  t.match(tree.buildHeaders(), /^Content-Type: multipart\/mixed/m)
  t.same(missingMembers(tree, { ...node, boundary: 'string' }), [])
  const [text, file] = tree.childNodes
  t.same(missingMembers(text ?? {}, { ...node, content: 'string' }), [])
  t.ok(Buffer.isBuffer(file?.content))
  t.equal(file?.getTransferEncoding(), 'base64')
})

t.test('mailauth has each check as a function of its own', async (t) => {
  t.same(
    missingMembers(
      { dkimVerify, arc, evaluateDmarc },
      { dkimVerify: 'function', arc: 'function', evaluateDmarc: 'function' },
    ),
    [],
  )
})

t.test('the verifier of mailauth prepares each signature and shows what it hashes', async (t) => {
  const verifier = new DkimVerifier({})
  const members = { prepareSignature: 'function', bodyHashes: 'object', results: 'object' }
  t.same(missingMembers(verifier, members), [])
  t.ok(verifier.bodyHashes instanceof Map)
  verifier.destroy()
})

t.test('the verifier of mailauth has the steps that its stream takes, and asks a cache for keys', async (t) => {
  const verifier = new DkimVerifier({ strict: true })
  const steps = { addBodyHash: 'function', emitHeaders: 'function', finalChunk: 'function' }
  t.same(missingMembers(verifier, steps), [])
  t.same(missingMembers(verifier.keyCache, { get: 'function' }), [])
  await verifier.emitHeaders(Buffer.from('From: A <a@b.test>\r\n'))
  t.same(verifier.headerFrom, ['a@b.test'])
  verifier.destroy()
  t.equal(toALabel('b.test'), 'b.test')
  const record = async (): Promise<string[]> => ['v=DKIM1; p=abcd']
  await t.rejects(getPublicKey('DKIM', 's._domainkey.b.test', 1024, record, { strict: true, hashAlgo: 'sha256' }), {
    code: 'EINVALIDTYPE',
  })
})

t.test("smpp's codec reads units from bytes, and encodes the GSM alphabet", async (t) => {
  const bytes = new smpp.PDU('enquire_link', { sequence_number: 3 }).toBuffer()
  t.match(new smpp.PDU(bytes), { command: 'enquire_link', command_status: 0, sequence_number: 3 })
  t.same(missingMembers(smpp.encodings.ASCII, { encode: 'function' }), [])
  t.equal(smpp.errors['ESME_RTHROTTLED'], 0x58)
})
