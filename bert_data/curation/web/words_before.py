"""Words before a number that tell what it is, or what it is not, in some twenty languages.

is_called_phone("call me: ")   ->  True           is_called_other("order no. ")   ->  True
"""

import re

_BEFORE = 24

_PHONE = re.compile(
    r"(?:(?<![^\W\d_])(?:"
    r"tel|telephone|phone|call|ring|cell|mobile|mob|fax|hotline|whatsapp|sms|dial|contact|"
    r"telefon|telefonnummer|rufnummer|handy|handynummer|mobil|mobilnummer|mobiltelefon|durchwahl|"
    r"anrufen|rufen sie|erreichen|"
    r"t[ée]l[ée]phone|t[ée]l|appelez|appeler|joindre|num[ée]ro vert|"
    r"tel[ée]fono|m[óo]vil|celular|llam(?:e|ar|a)|contacto|"
    r"cellulare|cell|chiam(?:are|ate|a)|numero verde|"
    r"telefone|fone|telem[óo]vel|ligue|ligar|contato|"
    r"telefoon|telefoonnummer|mobiel|gsm|bel|bellen|"
    r"kom|kom[óo]rka|zadzwo[ńn]|telefonu|cep|puhelin|puh|tlf|mobiltlf|"
    r"телефон|тел|моб|мобильный|факс|звоните|звонить|"
    r"هاتف|جوال|फ़ोन|मोबाइल|τηλ|τηλέφωνο|"
    r"reach)(?:s|ed|ing)?(?![^\W\d_])|"
    r"电话|手机|致电|拨打|热线|传真|联系方式|联系|座机|電話|手機|號碼|熱線|傳真|聯絡|"
    r"携帯|連絡先|お問い合わせ|ファックス|전화|휴대폰|연락처|문의|팩스|대표번호)"
)
_OTHER = re.compile(
    r"(?:(?<![a-z])(?:isbn|issn|ean|upc|asin|doi|pmid|order|orders|invoice|tracking|track|parcel|"
    r"shipment|serial|part|model|sku|item|product|lot|batch|patent|ticket|case|ref|reference|"
    r"transaction|account|acct|id|uid|code|barcode|version|imei|vin|zip|page|pages|pp|score|"
    r"population|timestamp|epoch|bytes|grant|gene|accession|catalog|catalogue|policy|lottery|loto|"
    r"(?:artikel|bestell|rechnungs|auftrags|kunden|serien|steuer)-?(?:nummer|nr)|konto|"
    r"commande|facture|dossier|siret|siren|pedido|factura|expediente|referencia|"
    r"ordine|fattura|codice|processo|cpf|cnpj|rg|nota fiscal|factuur|bestelling|kvk|"
    r"zam[óo]wieni[ea]|faktura|nip|regon|pesel|sipari[şs]|fatura|dosya|personnummer|org\.?-?nr)"
    r"(?![a-z])|заказ|инн|кпп|огрн|счет|гост|주문번호|우편번호|사업자번호|注文番号|"
    r"订单|单号|編號|编号|运单|快递|流水|序列|条码|货号|型号|批号|书号|专利|工单|票号|账号|帐号|"
    r"编码|代码|群号?|版本|彩票)"
    r"(?:[\s:：.#=(（|]|no|nr|number|num|is|was|of|号|码|为|是){0,6}\Z"
)


def is_called_phone(before: str) -> bool:
    """Whether the words before a number call it a phone number; lower case."""
    return _PHONE.search(before) is not None


def is_called_other(before: str) -> bool:
    """Whether the words directly before a number say that it is of another kind; lower case."""
    return _OTHER.search(before) is not None


def words_before(text: str, place: int) -> str:
    """Return the text just before a place, in lower case."""
    return text[max(0, place - _BEFORE) : place].lower()
