/** The footer of broadcasts in each language. */
import t from 'tap'
import { languages } from '../../../src/base/mail/language.js'
import { buildHtmlFooter, buildTextFooter } from '../../../src/outbound/broadcasts/unsubscribe-footer.js'

const url = 'https://a.test/u?a=1&b=2'

t.test('each language has its own words, the link and the address', async (t) => {
  const seen = new Set<string>()
  for (const language of languages) {
    const footer = { language, postalAddress: 'Shop & <Co>\n1 High Street' }
    const html = buildHtmlFooter(url, footer)
    t.match(html, `<div lang="${language}"`)
    t.match(html, '<a href="https://a.test/u?a=1&amp;b=2"')
    t.match(html, '<br>Shop &amp; &lt;Co&gt;<br>1 High Street</div>', 'no address is markup')
    const text = buildTextFooter(url, footer)
    t.match(text, `:\n${url}\n\nShop & <Co>\n1 High Street\n`)
    seen.add(text)
  }
  t.equal(seen.size, languages.length)
})

t.test('without an address the footer ends with the link', async (t) => {
  const footer = { language: 'en', postalAddress: null } as const
  t.equal(buildTextFooter(url, footer), `\n\nYou get this email because you are subscribed. Unsubscribe:\n${url}\n`)
  t.match(buildHtmlFooter(url, footer), />Unsubscribe<\/a><\/div>$/)
})
