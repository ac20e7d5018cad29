/**
 * Rules on the wording of phishing: what it promises or threatens so that a link is followed. If the account
 * itself is said to be in danger (`FRAUD_ACCOUNT`), these would repeat it and do not count.
 */
import type { PhishingTopic } from '../facts/phishing-phrases.js'
import { type SpamRule, wordingRule } from './spam-rule.js'

function phishingRule(name: string, weight: number, description: string, topic: PhishingTopic): SpamRule {
  return {
    name,
    weight,
    description,
    test: ({ impersonation: { phishingTopics } }) =>
      phishingTopics.has(topic) && (topic === 'account' || !phishingTopics.has('account')),
  }
}

export const phishingWording: readonly SpamRule[] = [
  phishingRule('FRAUD_ACCOUNT', 2, 'an account that is said to be in danger', 'account'),
  phishingRule(
    'FRAUD_ACCOUNT_ABROAD',
    2,
    'an account that is said to be in danger, in another language than English',
    'account abroad',
  ),
  phishingRule('FRAUD_MAILBOX', 1.5, 'a mailbox that is said to hold mail back', 'mailbox'),
  phishingRule('FRAUD_PROTECTION', 1.6, 'a device or its data that are said to be in danger', 'protection'),
  phishingRule('FRAUD_WALLET', 2, 'coins, and the keys to them', 'wallet'),
  phishingRule('FRAUD_REWARD', 1.3, 'a reward for an answer', 'reward'),
  phishingRule('FRAUD_PARCEL', 1.2, 'a parcel that is said to wait for a payment', 'parcel'),
  wordingRule(
    'GREETS_ADDRESS',
    1,
    'greets the recipient by address instead of name',
    /\b(?:dear|hello|hi|attention|greetings|hey|hallo|ol[áa]|hola|bonjour|ciao)[ ,:]{1,3}(?:user )?[\w.+-]{1,64}@[\w-]{1,63}\./,
  ),
  wordingRule(
    'SAYS_DEAR_ABROAD',
    0.7,
    'addresses the recipient without a name, in a language other than English',
    /(?<![a-zà-ÿ])(?:sehr geehrter? (?:kunde|nutzer|benutzer|inhaber|mitglied)|lieber? (?:kunde|nutzer)|estimado(?:\(a\)|\/a)? (?:cliente|usuario)|prezado(?:\(a\))? (?:cliente|usu[áa]rio)|caro cliente|ch[eè]re? (?:client|utilisateur|abonn[ée])|gentile (?:cliente|utente)|geachte (?:klant|gebruiker))/,
  ),
]
