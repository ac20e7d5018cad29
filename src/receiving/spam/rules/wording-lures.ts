/**
 * Words of present-day fraud: what it promises or threatens so that a link is followed. Where the account
 * itself is said to be in danger (`FRAUD_ACCOUNT`), these say it once more and count nothing.
 */
import {
  accountInDanger,
  accountInDangerAbroad,
  mailboxLure,
  parcelLure,
  protectionLure,
  rewardLure,
  walletLure,
} from '../lures.js'
import { type SpamRule, wording } from '../spam-rule.js'

function lure(name: string, weight: number, description: string, pattern: RegExp): SpamRule {
  return {
    name,
    weight,
    description,
    test: ({ lower }) => pattern.test(lower) && !accountInDanger.test(lower),
  }
}

export const lureWording: readonly SpamRule[] = [
  wording('FRAUD_ACCOUNT', 2, 'an account that is said to be in danger', accountInDanger),
  {
    name: 'FRAUD_ACCOUNT_ABROAD',
    weight: 2,
    description: 'an account that is said to be in danger, in another language than English',
    test: ({ lower }) => !accountInDanger.test(lower) && accountInDangerAbroad(lower),
  },
  lure('FRAUD_MAILBOX', 1.5, 'a mailbox that is said to hold mail back', mailboxLure),
  lure('FRAUD_PROTECTION', 1.6, 'a device or its data that are said to be in danger', protectionLure),
  lure('FRAUD_WALLET', 2, 'coins, and the keys to them', walletLure),
  lure('FRAUD_REWARD', 1.3, 'a reward for an answer', rewardLure),
  lure('FRAUD_PARCEL', 1.2, 'a parcel that is said to wait for a payment', parcelLure),
  {
    name: 'GREETS_ADDRESS',
    weight: 1,
    description: 'greets its reader by an address instead of a name',
    test: ({ lower }) =>
      /\b(?:dear|hello|hi|attention|greetings|hey|hallo|ol[áa]|hola|bonjour|ciao)[ ,:]{1,3}(?:user )?[\w.+-]{1,64}@[\w-]{1,63}\./.test(
        lower,
      ),
  },
  {
    name: 'SAYS_DEAR_ABROAD',
    weight: 0.7,
    description: 'calls its reader by no name, in another language than English',
    test: ({ lower }) =>
      /(?<![a-zà-ÿ])(?:sehr geehrter? (?:kunde|nutzer|benutzer|inhaber|mitglied)|lieber? (?:kunde|nutzer)|estimado(?:\(a\)|\/a)? (?:cliente|usuario)|prezado(?:\(a\))? (?:cliente|usu[áa]rio)|caro cliente|ch[eè]re? (?:client|utilisateur|abonn[ée])|gentile (?:cliente|utente)|geachte (?:klant|gebruiker))/.test(
        lower,
      ),
  },
]
