/** The rule for new passwords: what is refused as easy to guess, and what is not. */
import t from 'tap'
import { requireStrongPassword } from '../../../../src/workspaces/accounts/people/password-rule.js'

const owner = { email: 'nina.neu@shop.example', fullName: 'Nina Neumann' }

t.test('what guessers try first is refused, with the reason', async (t) => {
  for (const [password, reason] of [
    ['password', /at least 12/],
    ['🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔', /at least 12/],
    ['aaaaaaaaaaaa', /row of characters/],
    ['123456789012', /row of characters/],
    ['abcdefghijkl', /row of characters/],
    ['Password2026!', /common word/],
    ['PassWord PassWord', /common word/],
    ['ｐａｓｓｗｏｒｄ１２９４', /common word/],
    ['qwertyqwerty', /common word/],
    ['qwertyuiop12', /row of keys/],
    ['poiuytrewq!1', /row of keys/],
    ['asdfghjkl123', /row of keys/],
    ['1q2w3e4r5t6y', /row of keys/],
    ['1qaz2wsx3edc', /row of keys/],
    ['1qay2wsx3edc', /row of keys/],
    ['P@ssw0rd1234', /common word/],
    ['P4$$w0rd!12345678', /common word/],
    ['1l0vey0u-2026', /common word/],
    ['We1c0me-We1c0me1', /common word/],
    ['passwordabcd', /common word/],
    ['Pässwörd-2026', /common word/],
    ['p a s s w o r d', /common word/],
    ['Summer2026!!!', /common word/],
    ['Football1234', /common word/],
    ['xk7qmxk7qmxk7', /repeat/],
    ['N1na N3umann 7', /your name/],
    ['nina.neu@shop.example', /your address/],
    ['Neumann-1984-07', /your name/],
  ] as const) {
    t.throws(() => requireStrongPassword(password, owner), { message: reason, kind: 'invalid-parameter' }, password)
  }
})

t.test('a few words pass, with a common one among them too, and so do random characters', async (t) => {
  for (const password of [
    'correct horse battery',
    'another password',
    'the summer of my uncle',
    'purple stairs tomorrow',
    'xk7q vm2p xk7q vm2p 8',
    '839212348365',
    'Grüße aus Köln',
    '839201748365',
    'x9$Kq2!mV7pw',
  ]) {
    t.doesNotThrow(() => requireStrongPassword(password, owner), password)
  }
  t.doesNotThrow(() => requireStrongPassword('ab staple old town', { email: 'ab@x.example', fullName: '' }))
})

t.test('a long password is judged at once', async (t) => {
  const began = performance.now()
  t.doesNotThrow(() => requireStrongPassword(`${'né8'.repeat(340)}abcdxyz`, owner))
  t.ok(performance.now() - began < 20)
})
