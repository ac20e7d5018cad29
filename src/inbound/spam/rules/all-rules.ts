/** All rules of spam scoring, by subject. */

import type { PhishingTopic } from '../facts/phishing-phrases.js'
import { attachmentRules } from './attachments.js'
import { authenticationRules } from './authentication.js'
import { charsetRules } from './charset.js'
import { dateRules } from './dates.js'
import { gtubeRules } from './gtube.js'
import { headerRules } from './headers.js'
import { hostingRules } from './hosting.js'
import { htmlRules } from './html.js'
import { impersonationRules } from './impersonation.js'
import { type SpamRule, wordingRule } from './spam-rule.js'
import { structureRules } from './structure.js'
import { urlRules } from './urls.js'
import { productWording } from './wording-products.js'
import { salesWording } from './wording-sales.js'

/**
 * Rules on the wording of phishing: what it promises or threatens so that a link is followed. If the account
 * itself is said to be in danger (`FRAUD_ACCOUNT`), these would repeat it and do not count.
 */
const phishingWording: readonly SpamRule[] = [
  phishingRule('FRAUD_ACCOUNT', 2, 'the text says that an account is in danger', 'account'),
  phishingRule(
    'FRAUD_ACCOUNT_ABROAD',
    2,
    'the text says, in a language other than English, that an account is in danger',
    'account abroad',
  ),
  phishingRule('FRAUD_MAILBOX', 1.5, 'the text says that a mailbox holds mail back', 'mailbox'),
  phishingRule('FRAUD_PROTECTION', 1.6, 'the text says that a device or its data are in danger', 'protection'),
  phishingRule('FRAUD_WALLET', 2, 'the text is about cryptocurrency and its keys', 'wallet'),
  phishingRule('FRAUD_REWARD', 1.3, 'the text promises a reward for an answer', 'reward'),
  phishingRule('FRAUD_PARCEL', 1.2, 'the text says that a parcel waits for a payment', 'parcel'),
  wordingRule(
    'GREETS_ADDRESS',
    1,
    'the text greets the recipient by the address instead of a name',
    /\b(?:dear|hello|hi|attention|greetings|hey|hallo|ol[áa]|hola|bonjour|ciao)[ ,:]{1,3}(?:user )?[\w.+-]{1,64}@[\w-]{1,63}\./,
  ),
  wordingRule(
    'SAYS_DEAR_ABROAD',
    0.7,
    'the text addresses the recipient without a name, in a language other than English',
    /(?<![a-zà-ÿ])(?:sehr geehrter? (?:kunde|nutzer|benutzer|inhaber|mitglied)|lieber? (?:kunde|nutzer)|estimado(?:\(a\)|\/a)? (?:cliente|usuario)|prezado(?:\(a\))? (?:cliente|usu[áa]rio)|caro cliente|ch[eè]re? (?:client|utilisateur|abonn[ée])|gentile (?:cliente|utente)|geachte (?:klant|gebruiker))/,
  ),
]

/** Rules on the wording of fraud: money from afar, threats, gift cards, chain letters. */
const fraudWording: readonly SpamRule[] = [
  wordingRule(
    'FRAUD_ADVANCE_FEE',
    2.8,
    'the text asks for help to move money abroad',
    /\b(?:next of kin|foreign (?:account|partner|beneficiary|bank)|(?:transfer|release|remit\w*) (?:of )?(?:the|this) (?:money|funds?|sum)|(?:late|former) (?:president|head of state|general|minister)|(?:sum|amount) of (?:us ?)?\$? ?\(?[\d.,]+ ?(?:m\b|million|us)|million (?:united states|u\.?s\.?) dollars|over-?invoiced?|security company|deceased|unclaimed|diplomatic|inheritance|compensation fund|contract award|trunk box(?:es)?)\b.{0,4000}\b(?:account|transfer|confiden\w+|assistance|fund|beneficiary|partner\w*)\b/,
  ),
  wordingRule(
    'FRAUD_CONFIDENTIAL',
    1.5,
    'the text asks for trust and secrecy',
    /\b(?:strict(?:ly|est)? (?:confiden\w+|private)|utmost (?:confiden\w+|secre\w+|good faith)|(?:treat|keep) (?:this|it)\b.{0,40}\b(?:confiden\w+|secret)|mutual (?:trust|benefit|understanding)|business (?:proposal|relationship|transaction)|your (?:urgent|kind|immediate) (?:response|assistance|reply|attention)|god bless|reliable and (?:honest|trust\w+))\b/,
  ),
  wordingRule(
    'FRAUD_AFAR',
    1.2,
    'the text names countries or offices that letters of advance-fee fraud name',
    /\b(?:nigeria\w*|lagos|sierra leone|ivory coast|cote d'ivoire|burkina faso|zimbabwe|mobutu|abacha|savimbi|kabila|benin|togo|(?:central|apex) bank of|ministry of (?:mines|petroleum|finance)|(?:barrister|attorney) [a-z]+)\b/,
  ),
  wordingRule(
    'FRAUD_EXTORTION',
    3,
    'the text threatens the recipient and demands money',
    /\b(?:(?:recorded|filmed) you|your (?:webcam|contacts)|hacked your|malware on your|i (?:have )?(?:infected|access to your)|(?:bitcoin|btc) (?:wallet|address))\b.{0,2000}\b(?:bitcoin|btc|wallet|pay(?:ment)?|send)\b/,
  ),
  wordingRule(
    'FRAUD_GIFT_CARDS',
    1.7,
    'the text is about gift cards or a held parcel',
    /\b(?:(?:buy|purchase|get|need) (?:\w+ ){0,3}(?:gift|itunes|steam|google play) ?cards?|scratch (?:the|off)|gift card (?:worth|valued)|(?:parcel|package|shipment) (?:is |was |has been |could not be )(?:held|on hold|waiting|undeliver\w+|delivered)|redelivery|customs fee|shipping fee)\b/,
  ),
  wordingRule(
    'FRAUD_CHAIN',
    1.8,
    'the text is a chain letter',
    /\b(?:chain letter|(?:send|mail) \$ ?\d|\$5 (?:bills?|cash)|reports? ?#? ?[1-5]\b.{0,400}\breports? ?#? ?[2-5]|(?:100|perfectly|totally|completely)%? legal|add your name|list of names|pyramid|cable tv.{0,40}legal)\b/,
  ),
]

export const spamRules: readonly SpamRule[] = [
  ...gtubeRules,
  ...structureRules,
  ...headerRules,
  ...dateRules,
  ...authenticationRules,
  ...impersonationRules,
  ...urlRules,
  ...hostingRules,
  ...htmlRules,
  ...charsetRules,
  ...attachmentRules,
  ...salesWording,
  ...productWording,
  ...fraudWording,
  ...phishingWording,
]

function phishingRule(name: string, weight: number, description: string, topic: PhishingTopic): SpamRule {
  return {
    name,
    weight,
    description,
    test: ({ impersonation: { phishingTopics } }) =>
      phishingTopics.has(topic) && (topic === 'account' || !phishingTopics.has('account')),
  }
}
