/** Titles of faults begin with their harm. */
import t from 'tap'
import { tellHarm } from '../../../src/operations/concerns/harm-words.js'

t.test('a title begins with the harm, if there are words for it', async (t) => {
  t.equal(tellHarm('ptr', '192.0.2.1: no name'), 'Other servers may refuse your mail: 192.0.2.1: no name')
  t.equal(tellHarm('clock', 'the clock: late'), 'the clock: late')
})
