/** The word that was probably meant. */
import t from 'tap'
import { findClosestWord, suggestWord } from '../../../src/base/platform/closest-word.js'

t.test('the closest word is found, and a word that is far from all is not', async (t) => {
  const fields = ['scheduled_for', 'subject', 'from', 'to', 'reply_to', 'htmlbody', 'tags']
  const rows = [
    ['scheduled_at', 'scheduled_for'],
    ['replyTo', 'reply_to'],
    ['reply-to', 'reply_to'],
    ['HtmlBody', 'htmlbody'],
    ['form', 'from'],
    ['subjet', 'subject'],
    ['tag', 'tags'],
    ['t', 'to'],
    ['x', null],
    ['color', null],
    ['attachments', null],
    ['a'.repeat(61), null],
  ] as const
  for (const [given, expected] of rows) t.equal(findClosestWord(given, fields), expected, given)
  t.equal(findClosestWord('quue', ['queue', 'quit']), 'queue')
  t.equal(findClosestWord('same', ['SAME', 'same']), 'SAME', 'the first of those that are equally close')
  t.equal(findClosestWord('any', []), null)
})

t.test('a suggestion is the end of a message', async (t) => {
  t.equal(suggestWord('form', ['from']), '; did you mean "from"?')
  t.equal(suggestWord('color', ['from']), '')
})
