/** Rules on attachments, by name and declared type. */
import { hasDirectionOverride } from '../facts/script-facts.js'
import type { SpamAttachment } from '../facts/spam-message.js'
import type { SpamRule } from './spam-rule.js'

const programExtensions =
  /\.(?:exe|scr|pif|com|bat|cmd|vbs?|vbe|jse?|wsf|wsh|hta|cpl|msi|jar|lnk|ps1|reg|chm|apk|app|iso|img|vhdx?|one|url)$/i
const documentExtensions = 'pdf|docx?|xlsx?|pptx?|txt|rtf|jpe?g|gif|png|zip|html?|mp[34]|csv|mpe?g|avi|wav'
const doubleExtension = new RegExp(
  `\\.(?:${documentExtensions})[\\s_.]*\\.(?:exe|scr|pif|com|bat|cmd|vbs|js|wsf|hta|lnk|jar|html?|iso)$`,
  'i',
)

const hasAttachment = (test: (name: string, one: SpamAttachment) => boolean): SpamRule['test'] => {
  return ({ message }) => message.attachments.some((one) => test((one.filename ?? '').trim(), one))
}

const isWebPage = ({ filename }: SpamAttachment): boolean =>
  /\.(?:s?html?|xht(?:ml)?|svg|mht)$/i.test((filename ?? '').trim())

export const attachmentRules: readonly SpamRule[] = [
  {
    name: 'ATTACHED_PROGRAM',
    weight: 4,
    description: 'the message has a program as an attachment',
    test: hasAttachment(
      (name, { contentType }) =>
        programExtensions.test(name) || /\/x-(?:msdownload|dosexec|ms-shortcut)$/.test(contentType),
    ),
  },
  {
    name: 'ATTACHED_DOUBLE_EXTENSION',
    weight: 4,
    description: 'an attachment has two extensions and pretends to be of another type',
    test: hasAttachment((name) => doubleExtension.test(name)),
  },
  {
    name: 'ATTACHED_HIDDEN_EXTENSION',
    weight: 4,
    description: "an attachment's extension is hidden behind many blanks or reversed letters",
    test: hasAttachment((name) => hasDirectionOverride(name) || /\s{8}\.\w{1,5}$/.test(name)),
  },
  {
    name: 'ATTACHED_TYPE_MISMATCH',
    weight: 2,
    description: 'an attachment has the content type of text or media and the name of a program',
    test: hasAttachment(
      (name, { contentType }) => programExtensions.test(name) && /^(?:image|audio|video|text)\//.test(contentType),
    ),
  },
  {
    name: 'ATTACHED_MACROS',
    weight: 2,
    description: 'an attachment is a document of a type that can contain macros',
    test: hasAttachment((name) => /\.(?:docm|dotm|xlsm|xltm|xlam|pptm|potm|ppam|xll)$/i.test(name)),
  },
  {
    name: 'ATTACHED_PAGE',
    weight: 1.6,
    description: 'an attachment is a web page',
    test: ({ message }) => message.attachments.some(isWebPage),
  },
  {
    name: 'ATTACHED_PAGE_ASKS',
    weight: 2.5,
    description: 'an attached web page asks for a password or submits a form',
    test: ({ attachedPages }) => attachedPages.asksForInput,
  },
  {
    name: 'ATTACHED_PAGE_UNFOLDS',
    weight: 2,
    description: 'an attached web page redirects, or a script writes its content',
    test: ({ attachedPages }) => attachedPages.unpacksItself,
  },
  {
    name: 'LURE_IN_ATTACHMENT',
    weight: 1,
    description: 'the message has the wording of phishing and an attached web page',
    test: (facts) => facts.impersonation.phishingTopics.size > 0 && facts.message.attachments.some(isWebPage),
  },
]
