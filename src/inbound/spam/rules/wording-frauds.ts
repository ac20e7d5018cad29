/** Rules on the wording of fraud: money from afar, threats, gift cards, chain letters. */
import { type SpamRule, wordingRule } from './spam-rule.js'

export const fraudWording: readonly SpamRule[] = [
  wordingRule(
    'FRAUD_ADVANCE_FEE',
    2.8,
    'money that is to be moved abroad',
    /\b(?:next of kin|foreign (?:account|partner|beneficiary|bank)|(?:transfer|release|remit\w*) (?:of )?(?:the|this) (?:money|funds?|sum)|(?:late|former) (?:president|head of state|general|minister)|(?:sum|amount) of (?:us ?)?\$? ?\(?[\d.,]+ ?(?:m\b|million|us)|million (?:united states|u\.?s\.?) dollars|over-?invoiced?|security company|deceased|unclaimed|diplomatic|inheritance|compensation fund|contract award|trunk box(?:es)?)\b.{0,4000}\b(?:account|transfer|confiden\w+|assistance|fund|beneficiary|partner\w*)\b/,
  ),
  wordingRule(
    'FRAUD_CONFIDENTIAL',
    1.5,
    'begs for trust',
    /\b(?:strict(?:ly|est)? (?:confiden\w+|private)|utmost (?:confiden\w+|secre\w+|good faith)|(?:treat|keep) (?:this|it)\b.{0,40}\b(?:confiden\w+|secret)|mutual (?:trust|benefit|understanding)|business (?:proposal|relationship|transaction)|your (?:urgent|kind|immediate) (?:response|assistance|reply|attention)|god bless|reliable and (?:honest|trust\w+))\b/,
  ),
  wordingRule(
    'FRAUD_AFAR',
    1.2,
    'countries and offices that such letters come from',
    /\b(?:nigeria\w*|lagos|sierra leone|ivory coast|cote d'ivoire|burkina faso|zimbabwe|mobutu|abacha|savimbi|kabila|benin|togo|(?:central|apex) bank of|ministry of (?:mines|petroleum|finance)|(?:barrister|attorney) [a-z]+)\b/,
  ),
  wordingRule(
    'FRAUD_EXTORTION',
    3,
    'a threat for money',
    /\b(?:(?:recorded|filmed) you|your (?:webcam|contacts)|hacked your|malware on your|i (?:have )?(?:infected|access to your)|(?:bitcoin|btc) (?:wallet|address))\b.{0,2000}\b(?:bitcoin|btc|wallet|pay(?:ment)?|send)\b/,
  ),
  wordingRule(
    'FRAUD_GIFT_CARDS',
    1.7,
    'gift cards and parcels',
    /\b(?:(?:buy|purchase|get|need) (?:\w+ ){0,3}(?:gift|itunes|steam|google play) ?cards?|scratch (?:the|off)|gift card (?:worth|valued)|(?:parcel|package|shipment) (?:is |was |has been |could not be )(?:held|on hold|waiting|undeliver\w+|delivered)|redelivery|customs fee|shipping fee)\b/,
  ),
  wordingRule(
    'FRAUD_CHAIN',
    1.8,
    'a chain letter',
    /\b(?:chain letter|(?:send|mail) \$ ?\d|\$5 (?:bills?|cash)|reports? ?#? ?[1-5]\b.{0,400}\breports? ?#? ?[2-5]|(?:100|perfectly|totally|completely)%? legal|add your name|list of names|pyramid|cable tv.{0,40}legal)\b/,
  ),
]
