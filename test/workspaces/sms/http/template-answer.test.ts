/** Answers of gateways without a known interface: success, the id of the message, and faults with the status 200. */
import t from 'tap'
import { readTemplateAnswer } from '../../../../src/workspaces/sms/http/template-answer.js'

t.test('2xx is taken over, with the id if the answer has one that we know', async (t) => {
  const ids: readonly (readonly [string, readonly string[]])[] = [
    ['{"id":"a1"}', ['a1']],
    ['{"message_id":7}', ['7']],
    ['{"messageId":"m"}', ['m']],
    ['{"sid":"SM1","other":1}', ['SM1']],
    ['{"id":"","sid":"SM1"}', ['SM1']],
    ['{"id":12345678901234567890,"sid":"b"}', ['b']],
    ['{"id":{"a":1}}', []],
    [`{"id":"${'x'.repeat(201)}"}`, []],
    ['[{"id":"a"}]', []],
    ['OK 17', []],
    ['', []],
    ['null', []],
    ['{"id"', []],
  ]
  for (const [text, messageIds] of ids) {
    t.same(readTemplateAnswer({ status: 202, text, isComplete: true }), { kind: 'accepted', messageIds }, text)
  }
  const long = { status: 200, text: '{"id":"a1"}', isComplete: false }
  t.same(readTemplateAnswer(long), { kind: 'accepted', messageIds: [] }, 'an answer that was cut off')
  t.same(readTemplateAnswer({ status: 403, text: 'no credit', isComplete: true }), {
    kind: 'refused',
    reason: 'answered 403: no credit',
  })
  t.same(readTemplateAnswer({ status: 302, text: '', isComplete: true }), { kind: 'refused', reason: 'answered 302' })
})

t.test('2xx with JSON that reports a fault is a refusal', async (t) => {
  const faults = [
    ...['{"success":false}', '{"ok":false,"id":"a"}', '{"status":"ERROR"}', '{"status":"failed","id":"a"}'],
    ...['{"error":"no credit"}', '{"error":true}', '{"error":{"code":7}}', '{"error":{"message":"x"}}'],
    ...['{"errors":["x"]}', '{"errors":{"to":"x"}}', '{"id":"a","status":"rejected"}'],
  ]
  for (const text of faults) {
    const reason = `answered 200: ${text}`
    t.same(readTemplateAnswer({ status: 200, text, isComplete: true }), { kind: 'refused', reason }, text)
  }
  const successes = [
    ...['{"success":true}', '{"ok":true}', '{"status":"queued"}', '{"status":0}', '{"error":null}', '{"error":""}'],
    ...['{"error":0}', '{"error":"0"}', '{"error":"None"}', '{"error":false}', '{"error":{}}', '{"errors":[]}'],
    ...['{"error":{"code":0,"message":"OK"}}', '{"error":{"code":"0"}}', '[{"success":false}]', 'error'],
  ]
  for (const text of successes) {
    t.same(readTemplateAnswer({ status: 200, text, isComplete: true }), { kind: 'accepted', messageIds: [] }, text)
  }
})
