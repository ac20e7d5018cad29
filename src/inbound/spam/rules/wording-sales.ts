/** Rules on the wording of unsolicited sales. All are common words: they weigh only together. */
import { type SpamRule, wordingRule } from './spam-rule.js'

export const salesWording: readonly SpamRule[] = [
  wordingRule(
    'SAYS_CLICK_HERE',
    0.6,
    'the text asks the reader to click',
    /\bclick (?:here|below|on the (?:link|image)|this link|the link)\b|\bclicking here\b/,
  ),
  wordingRule(
    'SAYS_REMOVE',
    1.9,
    'the text says how to be removed from a list',
    /\b(?:to be removed|be (?:taken|removed) (?:off|from)|remove (?:your|my|me|yourself)\b|removal (?:instructions|requests?|from)|for removal|"?remove"? in (?:the )?subject|to remove)\b/,
  ),
  wordingRule(
    'SAYS_NO_FURTHER_MAIL',
    0.6,
    'the text says how to stop further mail',
    /\b(?:(?:not|no longer) (?:wish|want|like) to receive|(?:receive|get) no (?:more|further)|further (?:mailings?|e-?mails?|offers?|correspondence)|future (?:mailings?|e-?mails?|offers?|promotions?)|stop receiving)\b/,
  ),
  wordingRule(
    'SAYS_OPTED_IN',
    0.8,
    'the text claims that the recipient asked for the mail',
    /\b(?:opt(?:ed)?[ -]?in\b|you (?:are|were) receiving this|you received this|because you (?:have )?(?:signed|subscribed|registered|opted|requested|expressed)|you (?:have )?(?:requested|expressed) (?:an )?interest|partner (?:web ?)?sites?|permission[- ]based)/,
  ),
  wordingRule(
    'SAYS_NOT_SPAM',
    1.3,
    'the text claims that the message is not spam',
    /\b(?:(?:is|are) not (?:a )?(?:spam|unsolicited)|(?:not|never) (?:be )?considered spam|not spam\b|one[- ]time (?:mailing|e-?mail|offer|message)|sincerely apologi[sz]e|apologi[sz]e for (?:any|the) (?:inconvenience|intrusion)|s\.? ?1618|can-spam|section 301)/,
  ),
  wordingRule(
    'SAYS_FREE',
    0.1,
    'the text offers something for free',
    /\bfor free\b|\bfree (?:trial|sample|gift|quote|info\w*|access|report|offer|membership|consultation|shipping|bonus|copy|details|service|call|of charge|tour|preview|evaluation|estimate|phone|cell|dvd|tv|cd|web|hosting|software|money|video|pics|xxx|adult)|\b100% free\b|\babsolutely free\b/,
  ),
  wordingRule(
    'SAYS_NO_OBLIGATION',
    1.6,
    'the text promises that there is no obligation or risk',
    /\b(?:no|without(?: any)?|absolutely no) (?:obligation|catch|strings|gimmicks?|hidden|purchase necessary|cost to you|up-?front|credit checks?|questions asked|investment|experience)|\brisk[- ]free\b|\bno[- ]risk\b/,
  ),
  wordingRule(
    'SAYS_GUARANTEE',
    1.1,
    'the text promises a guarantee',
    /\b(?:100% |fully |money[- ]back |unconditional(?:ly)? |satisfaction |is |are |we )guarantee[ds]?\b|\bguaranteed\b|\bmoney[- ]back\b/,
  ),
  wordingRule(
    'SAYS_ACT_NOW',
    0.2,
    'the text urges the reader to act now',
    /\bact (?:now|fast|today|quickly|immediately)|\b(?:limited|special)[- ](?:time|offer)|\border (?:now|today|yours)|\b(?:call|apply|join|buy|sign up|enroll|start|visit|subscribe) (?:us )?(?:now|today)\b|\bdon'?t (?:miss|wait|delay|hesitate)|\boffer (?:expires|ends|is limited)|\bwhile supplies|\bhurry\b|\bright now\b.{0,40}\bcall\b/,
  ),
  wordingRule(
    'SAYS_SAVE',
    0.2,
    'the text promises savings or low prices',
    /\bsav(?:e|ings?) (?:up to|of|over|as much|\$|\d|on your|big|money)|\b(?:low(?:est|er)?|best|wholesale|rock bottom|discount\w*|special|incredible|unbeatable) (?:price|rate|cost|deal)s?\b|\bup to \d+ ?% (?:off|less)|\b\d+ ?% off\b|\bbargain|\bcompare (?:at|prices)/,
  ),
  wordingRule(
    'SAYS_TOLL_FREE',
    1.4,
    'the text has a number that can be called for free',
    /\b(?:toll[- ]?free|1?8(?:00|88|77|66)[-. )]+\w{3}[-. ]?\w{4}|24 ?(?:hours?|hrs?)[ ,\w]{0,20}(?:7 days|message|recorded)|24\/7)/,
  ),
  wordingRule(
    'SAYS_CREDIT_CARD',
    0.2,
    'the text names ways to pay',
    /\b(?:credit cards?|visa|mastercard|american express|amex|money orders?|cashier'?s check)\b.{0,200}\b(?:visa|mastercard|master card|american express|check|cards?|order|number)\b|\bmerchant account/,
  ),
  wordingRule(
    'SAYS_ORDER',
    0.2,
    'the text has words of an order form',
    /\b(?:order form|how to order|to (?:place (?:an|your) )?order\b|shipping (?:and|&) handling|your order (?:is|will)|ordering (?:is|now)|s ?& ?h\b|qty\b)/,
  ),
  wordingRule(
    'SAYS_BULK_MAIL',
    0.8,
    'the text offers bulk mail or addresses',
    /\b(?:bulk e?-?mail|e?-?mail (?:marketing|addresses on|blast|list|lists|leads)|million (?:fresh |e-?mail )?(?:e-?mail )?addresses|mass (?:e-?)?mail|targeted (?:e-?mail|leads|traffic)|bullet[- ]?proof|search engines? (?:submission|placement|ranking|optimi\w+))/,
  ),
  wordingRule(
    'SAYS_AS_SEEN',
    1,
    'the text refers to other media or to praise by customers',
    /\bas (?:seen|featured|heard) (?:on|in|by)\b|\bfeatured on\b|\btestimonials?\b/,
  ),
  wordingRule(
    'SAYS_AMAZING',
    1,
    'the text promises a miracle',
    /\b(?:amazing|incredibl[ey]|miracle|revolutionary|breakthrough|unbelievable|once[- ]in[- ]a[- ]life ?time|secrets? (?:of|to|revealed)|you won'?t believe|what are you waiting|change your life)\b/,
  ),
  wordingRule(
    'SAYS_DEAR',
    1.5,
    'the text addresses the recipient without a name',
    /(?<!\S)(?:dear|hello|attention|attn|greetings)[ ,:]{1,3}(?:sir|madam|friend|customer|client|subscriber|member|user|homeowner|home owner|web ?master|investor|candidate|beneficiary|business|reader|sirs|valued|account|email|fellow|internet|consumer|partner|ceo|president|opt)/,
  ),
  wordingRule(
    'SAYS_WIN',
    0.5,
    'the text says that the recipient has won',
    /\b(?:you(?:'ve| have)? (?:just )?(?:won|win|been (?:selected|chosen|approved|pre-?approved))|congratulations|sweepstakes?|prize|jackpot|lottery|lotto|grand prize|claim your|winner)\b/,
  ),
  wordingRule(
    'SAYS_TELLS_FRIENDS',
    0.1,
    'the text asks the reader to pass the message on',
    /\b(?:forward this|tell (?:a|your) friends?|pass (?:this|it) (?:on|along))\b/,
  ),
  wordingRule(
    'SAYS_PRICE',
    0.1,
    'the text has several prices in dollars',
    /(?:\$ ?\d[^$]{0,400}){3}\$ ?\d|\bonly \$ ?\d|\bjust \$ ?\d|\bfor \$? ?\d+\.9[59]\b/,
  ),
]
