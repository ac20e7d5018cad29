/** Rules on HTML: content hidden from people or from filters, and features that mail does not need. */
import type { SpamFacts } from '../facts/spam-facts.js'
import type { SpamRule } from './spam-rule.js'

const hasTag =
  (...names: readonly string[]) =>
  ({ html }: SpamFacts): boolean =>
    names.some((name) => html.tags.has(name))

/** Newsletters hide a line of preview text: that much is allowed. */
const MAX_PREVIEW_LENGTH = 400

const countTags = (facts: SpamFacts, name: string): number => facts.html.tags.get(name) ?? 0

export const htmlRules: readonly SpamRule[] = [
  {
    name: 'HTML_HIDDEN_TEXT',
    weight: 1.5,
    description: 'the HTML has much text that is not shown',
    test: ({ html }) =>
      html.hiddenCharacters > MAX_PREVIEW_LENGTH && html.hiddenCharacters * 3 > html.visibleText.length,
  },
  {
    name: 'HTML_TINY_TEXT',
    weight: 1.5,
    description: 'the HTML has text that is too small to be read',
    test: ({ html }) => html.tinyCharacters > 20,
  },
  {
    name: 'HTML_CAMOUFLAGED_TEXT',
    weight: 0.8,
    description: 'the HTML has text in the colour of its background',
    test: ({ html }) => html.camouflagedCharacters > 8,
  },
  {
    name: 'HTML_BROKEN_WORDS',
    weight: 2,
    description: 'invisible markup breaks words of the HTML',
    test: ({ html }) => html.brokenWords > 1,
  },
  {
    name: 'HTML_ENCODED_LETTERS',
    weight: 0.9,
    description: 'the HTML has plain letters that are written as character references',
    test: ({ html }) => html.encodedLetters > 5,
  },
  { name: 'HTML_SCRIPT', weight: 0.2, description: 'the HTML contains a script', test: hasTag('script') },
  {
    name: 'HTML_HANDLERS',
    weight: 1.1,
    description: 'the HTML has scripts in attributes',
    test: ({ html }) => html.eventHandlers > 0,
  },
  {
    name: 'HTML_FRAMES',
    weight: 0.4,
    description: 'the HTML embeds pages or objects',
    test: hasTag('iframe', 'frame', 'frameset', 'object', 'embed', 'applet'),
  },
  { name: 'HTML_FORM', weight: 0.2, description: 'the HTML contains a form', test: hasTag('form') },
  {
    name: 'HTML_PASSWORD',
    weight: 3,
    description: 'the HTML contains a form that asks for a password',
    test: ({ html }) => html.passwordInputs > 0,
  },
  {
    name: 'HTML_REFRESH',
    weight: 2,
    description: 'the HTML redirects the reader to another page',
    test: ({ html }) => html.hasRefresh,
  },
  {
    name: 'HTML_LOUD',
    weight: 0.2,
    description: 'the HTML has much text in large or coloured letters',
    test: ({ html }) => html.loudElements > 3,
  },
  {
    name: 'HTML_CENTERED',
    weight: 0.1,
    description: 'the HTML uses the element center',
    test: (facts) => countTags(facts, 'center') > 0,
  },
  {
    name: 'HTML_FRAGMENT',
    weight: 1,
    description: 'the HTML lacks the html or body element',
    test: ({ message, html }) => message.html !== null && !(html.tags.has('html') && html.tags.has('body')),
  },
  {
    name: 'HTML_LETTERS_IN_TABLE',
    weight: 1.4,
    description: 'the HTML has far more markup than words',
    test: ({ html }) => {
      const opened = [...html.tags.values()].reduce((sum, one) => sum + one, 0)
      return opened > 60 && html.visibleText.replace(/\s+/g, '').length < opened * 3
    },
  },
]
