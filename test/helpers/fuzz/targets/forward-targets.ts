/** What forwarding reads of mail that comes from outside: rewritten senders, and the ARC sets of a message. */
import { createPrivateKey, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { type DomainName, localPartOf, tryParseAddress } from '../../../../src/base/mail/address.js'
import { createForwardedSender, senderOfForwarded } from '../../../../src/base/mail/forwarded-sender.js'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { readDeliveredTo } from '../../../../src/inbound/forwarding/judge-forwarding.js'
import { countArcSets, sealArc } from '../../../../src/workspaces/domains/dkim/arc-seal.js'
import { check, checkEqual, type FuzzTarget } from '../target.js'
import { messageSeeds, messageWords } from './message-seeds.js'
import { isRefusal } from './refusals.js'

const secret = createSecretKey(Buffer.alloc(32, 7))
const host = 'posthorn.a.test' as DomainName
const at = Date.UTC(2026, 6, 1)

function rewriteSender(input: Buffer): void {
  const text = input.toString()
  senderOfForwarded(secret, text, at)
  const sender = tryParseAddress(text)
  const rewritten = sender === null ? null : createForwardedSender(secret, sender, host, at)
  if (rewritten === null) return
  checkEqual(tryParseAddress(rewritten), rewritten, 'a rewritten sender is an address')
  const restored = senderOfForwarded(secret, localPartOf(rewritten), at)
  check(restored !== null, 'a rewritten sender can be restored')
  if (!/^SRS[01][=+-]/i.test(text)) checkEqual(restored, sender, 'and is what it was')
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
const key = { domain: 'a.test', selector: 's', keyObject: createPrivateKey(pem) }

function sealMessage(input: Buffer): void {
  const header = scanHeader(input)
  readDeliveredTo(input, header)
  const sets = countArcSets(input, header)
  check(sets >= 0 && sets <= 99, 'the number of sets has two digits')
  const results = `mx.a.test; x=${input.toString('latin1', 0, 200)}`
  const fields = sealArc(input, key, at, { instance: Math.min(sets, 49) + 1, validation: 'pass', results })
  const names = scanHeader(Buffer.from(fields, 'latin1')).fields.map(({ name }) => name)
  checkEqual(
    names,
    ['arc-seal', 'arc-message-signature', 'arc-authentication-results'],
    'a set has three fields and no other',
  )
}

const set = 'ARC-Seal: i=1; a=rsa-sha256; cv=none; d=b.test; s=s; b=x\r\nARC-Message-Signature: i=1; b=x\r\n'

export const forwardTargets: readonly FuzzTarget[] = [
  {
    name: 'forwarded-senders',
    checks: 'restore(rewrite(x)) = x; addresses',
    seeds: [
      'bob@b.test',
      'SRS0=abcd=T2=b.test=bob@first.test',
      'SRS1=abcd=first.test==abcd=T2=b.test=bob@second.test',
      'SRS0+abcd=T2=b.test=b=o=b@first.test',
    ],
    words: ['SRS0=', 'SRS1=', '=', '==', '+', '-', '@', 'AA', 'b.test'],
    run: rewriteSender,
  },
  {
    name: 'arc-sets',
    checks: 'a set has three fields and no other',
    seeds: [...messageSeeds, `${set}ARC-Authentication-Results: i=1; b.test; spf=pass\r\nFrom: a@b.test\r\n\r\nx\r\n`],
    words: [...messageWords, 'ARC-Seal:', 'i=1;', 'i=', '; ', 'Delivered-To:'],
    run: sealMessage,
    refuses: isRefusal,
  },
]
