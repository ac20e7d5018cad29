/** Credentials are taken out of a URL, and shown as a mask that keeps what is stored. */
import t from 'tap'
import { showUrl, splitUrl } from '../../../../src/workspaces/webhooks/settings/url-login.js'

t.test('credentials are stored apart from the URL, decoded', async (t) => {
  t.same(splitUrl('https://a.test/x?y=@z'), { url: 'https://a.test/x?y=@z', login: null })
  t.same(splitUrl('https://me:p%40ss%2F@a.test:8443/x'), { url: 'https://a.test:8443/x', login: 'me:p@ss/' })
  t.same(splitUrl('https://token@a.test/'), { url: 'https://a.test/', login: 'token:' })
  t.same(splitUrl('https://a:b@c@a.test/'), { url: 'https://a.test/', login: 'a:b@c' }, 'the last @ ends them')
  t.same(splitUrl('https://a:100%@a.test/'), { url: 'https://a.test/', login: 'a:100%' }, 'no percent encoding')
})

t.test('a URL as answers show it keeps the credentials', async (t) => {
  const shown = showUrl('https://a.test/x', 'me:secret')
  t.equal(shown, 'https://***:***@a.test/x')
  t.same(splitUrl(shown), { url: 'https://a.test/x', login: 'keep' })
  t.equal(showUrl('https://a.test/x', null), 'https://a.test/x')
})
