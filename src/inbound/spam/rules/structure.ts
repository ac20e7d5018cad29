/** Rules on the structure of a message: which bodies it has and how they are written. */
import { saysOtherThings } from '../facts/long-words.js'
import type { SpamFacts } from '../facts/spam-facts.js'
import type { SpamRule } from './spam-rule.js'

/** A short notice below a picture of its sender's name: some words, and a link to the author's own organization. */
function isShortNotice({ html, urls, author, hasThrowawayDomain, impersonation }: SpamFacts): boolean {
  if (hasThrowawayDomain || impersonation.impersonatedBrands.length > 0 || visibleLengthOf(html) < MIN_NOTICE_LENGTH)
    return false
  return urls.some(({ organization }) => organization === author?.organization)
}

const MIN_NOTICE_LENGTH = 80
const visibleLengthOf = ({ visibleText }: SpamFacts['html']): number => visibleText.replace(/\s+/g, ' ').trim().length

const isEmpty = ({ message, body }: SpamFacts): boolean => body.trim() === '' && message.attachments.length === 0

export const structureRules: readonly SpamRule[] = [
  {
    name: 'EMPTY_MESSAGE',
    weight: 1.1,
    description: 'the message has no text, no image and no attachment',
    test: (facts) => isEmpty(facts) && facts.images.length === 0,
  },
  {
    name: 'AMBIGUOUS_STRUCTURE',
    weight: 2,
    description: 'mail programs read different parts from the message',
    test: ({ message }) => message.isAmbiguous,
  },
  {
    name: 'HTML_ONLY',
    weight: 1.4,
    description: 'the message has HTML but no text version',
    test: ({ message }) => message.html !== null && (message.text ?? '').trim() === '',
  },
  {
    name: 'IMAGE_ONLY',
    weight: 2.4,
    description: 'the message has images and hardly any words',
    test: (facts) =>
      facts.message.html !== null &&
      facts.images.length > 0 &&
      facts.html.visibleText.replace(/\s+/g, ' ').length < 250 &&
      !isShortNotice(facts),
  },
  {
    name: 'PICTURE_IS_LINK',
    weight: 1.6,
    description: 'the message has hardly any words, and a link on an attached image',
    test: ({ html, images, urls, message }) =>
      message.html !== null &&
      images.length === 0 &&
      html.imageCount > 0 &&
      urls.length > 0 &&
      html.visibleText.replace(/\s+/g, ' ').length < 250,
  },
  {
    name: 'PICTURES_FOR_WORDS',
    weight: 0.2,
    description: 'the message has many images and few words',
    test: ({ html, images }) => images.length > 3 && html.visibleText.replace(/\s+/g, ' ').length / images.length < 150,
  },
  {
    name: 'BASE64_PLAIN_TEXT',
    weight: 1.5,
    description: 'a text in a single-byte charset is encoded as base64',
    test: ({ message }) =>
      message.parts.some(
        ({ contentType, charset, encoding, attached }) =>
          !attached &&
          /^(?:text\/.*)?$/.test(contentType) &&
          encoding === 'base64' &&
          /^(?:us-ascii|iso-8859-1|)$/.test(charset),
      ),
  },
  {
    name: 'BODIES_DIFFER',
    weight: 1.5,
    description: 'the text and the HTML of the message say different things',
    test: ({ message, html }) => message.text !== null && saysOtherThings(message.text, html.visibleText),
  },
  {
    name: 'LONG_LINES',
    weight: 0.5,
    description: 'the text has very long lines',
    test: ({ message }) =>
      message.html === null && (message.text ?? '').split('\n', 300).some((line) => line.length > 900),
  },
  {
    name: 'ONE_PART_MULTIPART',
    weight: 1.1,
    description: 'the message is multipart but has only one part',
    test: ({ message }) =>
      /^multipart\/(?:mixed|alternative|related)/.test(message.parts[0]?.contentType ?? '') &&
      message.parts.length === 2,
  },
  {
    name: 'HTML_DECLARED_MIXED',
    weight: 0.6,
    description: 'the message is multipart/related or multipart/mixed but contains only HTML',
    test: ({ message }) =>
      /^multipart\/(?:mixed|related)/.test(message.parts[0]?.contentType ?? '') &&
      message.parts.slice(1).every(({ contentType }) => contentType === 'text/html') &&
      message.parts.length > 1,
  },
]
