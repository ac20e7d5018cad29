/** What a thread makes of a message is what the processes would make of its stored bytes. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import type { Authentication } from '../../../../src/base/mail/authentication-results.js'
import { scanHeader } from '../../../../src/base/mail/header-fields.js'
import { contentAnalyzer } from '../../../../src/inbound/receiving/analysis/inbound-analyzer.js'
import { buildResultFields } from '../../../../src/inbound/receiving/authentication/result-fields.js'
import { type TraceFacts, withTrace } from '../../../../src/inbound/receiving/authentication/trace-fields.js'
import { makeStoredForm } from '../../../../src/inbound/receiving/threads/stored-form.js'
import { buildSpamContext } from '../../../../src/inbound/spam/received-spam-message.js'
import { MessageContent } from '../../../../src/records/messages/mime/message-content.js'

const now = Date.UTC(2026, 5, 1, 12)
const connection = { clientAddress: '192.0.2.1', helo: 'h.test', envelopeFrom: 'a@b.test', hostname: 'mx.test' }
const trace: TraceFacts = {
  ...{ returnPath: parseAddress('a@b.test'), helo: 'h.test', address: '192.0.2.1', hostname: 'mx.test' },
  ...{ protocol: 'ESMTP', tls: null, id: 'x', recipient: null, now },
}
const authentication: Authentication = {
  spf: { result: 'fail', identity: 'mailfrom', domain: 'b.test', reason: 'nö', explanation: null },
  dkim: [{ result: 'fail', domain: 'b.test', selector: 's', reason: null }],
  dmarc: { result: 'fail', domain: null, policyDomain: null, policy: null, disposition: 'none', reason: null },
  arc: { result: 'none', reason: null },
  iprev: { result: 'fail', name: null },
  fromFields: 1,
}

const header = 'From: "A" <a@b.test>\r\nTo: c@home.test, d@home.test\r\nSubject: =?utf-8?q?win_=C3=A4?= cash\r\n'
const alternative = [
  'MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n',
  '--x\r\nContent-Type: text/plain\r\n\r\nclick here\r\n',
  '--x\r\nContent-Type: text/html\r\n\r\n<a href="http://192.0.2.9/">click here</a>\r\n--x--\r\n',
].join('')
const attached = [
  'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n',
  '--x\r\nContent-Type: text/plain\r\n\r\ntext\r\n',
  '--x\r\nContent-Type: application/zip; name=a.zip\r\n\r\nPK\r\n--x--\r\n',
].join('')
const texts = {
  plain: `${header}\r\nact now\r\n`,
  alternative: `${header}${alternative}`,
  'forged fields': `Return-Path: <z@z.test>\r\n${header}Authentication-Results: mx.test; dkim=pass\r\n\r\ntext\r\n`,
  'no body': header,
  'no empty line': `${header}text without a colon\r\n`,
  attached: `${header}${attached}`,
  large: `${header}\r\n${'a line\r\n'.repeat(8_192)}`,
}

for (const [name, text] of Object.entries(texts)) {
  t.test(name, (t) => {
    const raw = Buffer.from(text)
    const { pieces, content } = makeStoredForm({ raw, header: scanHeader(raw) }, trace, authentication, connection)
    const results = buildResultFields(authentication, connection)
    const stored = Buffer.concat(withTrace(raw, scanHeader(raw), trace, results))
    const joined = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : raw.subarray(...piece)))
    t.equal(Buffer.concat(joined).toString('latin1'), stored.toString('latin1'))
    const storedHeader = scanHeader(stored)
    const message = { raw: stored, header: storedHeader, parts: new MessageContent(stored, storedHeader).read() }
    const context = buildSpamContext(connection, authentication, now)
    const expected = {
      summary: contentAnalyzer.summarize(message),
      analysis: contentAnalyzer.analyze(message, context),
    }
    t.same(content, name === 'large' ? null : expected, 'a process reads what is large')
    t.ok(
      expected.analysis.rules.some((rule) => rule.name === 'SPF_FAIL'),
      'the results count',
    )
    t.end()
  })
}

t.test('an analysis that fails is left to a process', (t) => {
  const raw = Buffer.from(texts.plain)
  t.intercept(contentAnalyzer, 'analyze', {
    value: () => {
      throw new Error('a fault')
    },
  })
  const { pieces, content } = makeStoredForm({ raw, header: scanHeader(raw) }, trace, authentication, connection)
  t.equal(content, null)
  t.ok(pieces.length > 1)
  t.end()
})
