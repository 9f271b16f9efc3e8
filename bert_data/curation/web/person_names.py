"""Find full names of persons, in English and Chinese, by common names and the words around them.

    find_person_names("Dr. Anke Vogelsang met John Smith.")   ->  [(4, 18), (23, 33)]
    find_person_names("联系人：王建国，电话")                     ->  [(4, 7)]

An English name begins with a common given name, or follows a title or words such as "my name is"; a
Chinese one has a common surname, and follows a word such as 姓名 or 他叫 and ends there, or
precedes one such as 先生 and begins after a sign, 和 or a word such as 今天. Other Chinese
names cannot be distinguished from words. A surname alone, with or without a title, is not a name
here, nor are capitals (JOHN SMITH) and surnames that come first (Smith, John). All functions take
time linear in the length of the text.
"""

import re
from collections.abc import Iterator

from bert_data.curation.web.personal_addresses import HAN, Spans


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


GIVEN_NAMES = words_of("""
    Aaron Abigail Adam Adrian Agnes Alan Albert Alejandro Alex Alexander Alexandra Alfred Alice
    Alison Allison Amanda Amy Andrea Andrew Angela Anita Ann Anna Anne Annie Anthony Antonio
    Arnold Arthur Ashley Audrey Barbara Barry Beatrice Becky Benjamin Bernard Beth Betty Beverly
    Bob Bobby Bonnie Brad Bradley Brandon Brenda Brian Bruce Bryan Caitlin Caleb Calvin Cameron
    Carl Carla Carlos Carmen Carol Caroline Carolyn Catherine Cathy Cecilia Charles Charlie
    Cheryl Chris Christina Christine Christopher Cindy Claire Clara Clarence Claudia Clifford
    Connie Craig Curtis Cynthia Daniel Danielle Darren David Deborah Debra Denise Dennis Derek
    Diana Diane Dolores Donald Donna Doris Dorothy Douglas Duncan Dylan Edith Edward Edwin
    Eileen Elaine Eleanor Elena Elizabeth Ellen Elsie Emily Emma Eric Erica Erin Ernest Esther
    Ethan Ethel Eugene Eva Evan Evelyn Felicia Fiona Francisco Fred Frederick Gabriel Gareth
    Gary Geoffrey George Gerald Geraldine Gilbert Gloria Gordon Graham Greg Gregory Hannah
    Harold Harriet Harry Harvey Hector Helen Henry Herbert Howard Hugh Ian Irene Isaac Isabel
    Isabella Jacob Jacqueline James Jamie Jane Janet Janice Jared Jason Javier Jean Jeff Jeffrey
    Jennifer Jeremy Jerry Jesse Jessica Jill Jim Jimmy Joan Joanna Joanne Joe Joel John Johnny
    Jonathan Jorge Jose Joseph Joshua Joyce Juan Juanita Judith Judy Julia Julian Julie Justin
    Karen Karl Kate Katherine Kathleen Kathryn Kathy Katie Keith Kelly Ken Kenneth Kevin
    Kimberly Kristen Kristin Kyle Larry Laura Lauren Laurie Lawrence Leah Leonard Leslie Lewis
    Liam Linda Lisa Lois Lori Lorraine Louis Louise Lucas Lucy Luis Luke Malcolm Marcia Marcus
    Margaret Maria Marie Marilyn Mario Marion Marjorie Martha Martin Marvin Mary Matthew Maureen
    Megan Melanie Melissa Melvin Michael Michelle Miguel Mike Mildred Monica Nancy Natalie
    Natasha Nathan Neil Nicholas Nicole Nigel Nina Nora Norman Oliver Olivia Oscar Pamela
    Patricia Patrick Paul Paula Pauline Pedro Peggy Peter Philip Phillip Phyllis Priscilla
    Rachel Ralph Ramon Randall Randy Raymond Rebecca Regina Ricardo Richard Rita Robert Roberta
    Roberto Rodney Roger Ronald Rosemary Roy Russell Ruth Ryan Sally Samantha Samuel Sandra Sara
    Sarah Sean Shane Shannon Sharon Shawn Sheila Shirley Simon Sophia Sophie Stacy Stanley
    Stephanie Stephen Steve Steven Stuart Susan Suzanne Sylvia Tamara Tammy Tara Ted Teresa
    Terry Theodore Theresa Thomas Tiffany Tim Timothy Tina Todd Tom Tony Tracy Travis Trevor
    Tyler Valerie Vanessa Vera Vernon Veronica Vicki Victor Vincent Vivian Walter Wanda Warren
    Wayne Wendy Wesley William Yolanda Yvonne Zachary Zoe
""")
SURNAMES = words_of("""
    Adams Allen Anderson Bailey Baker Barnes Bell Bennett Brooks Brown Butler Campbell Carter
    Clark Coleman Collins Cook Cooper Cox Davis Edwards Evans Fisher Foster Gibson Graham Gray
    Griffin Hall Hamilton Harris Henderson Hughes Jenkins Johnson Jones Kelly Lewis Marshall
    Martin Mason Mitchell Moore Morgan Morris Murphy Nelson Owens Parker Patterson Perry
    Peterson Phillips Porter Powell Reed Reynolds Richards Roberts Robinson Rogers Russell
    Sanders Scott Simmons Smith Stewart Sullivan Taylor Thompson Turner Walker Watson Webb
""")
PLACES = words_of("""
    Ashford Birchwood Cedarville Eastbrook Fairmont Glenwood Hazelton Kingsley Lakeview
    Millbrook Northfield Oakdale Pinehurst Ridgeway Stonebridge Thornton Westbury Willowdale
""")
# The commonest come first.
CHINESE_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许邓韩冯曹彭曾肖田董潘袁蔡蒋余"
    "于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷"
    "龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向汤温康施牛樊葛邢安齐伍庞颜倪庄聂章鲁岳翟殷"
    "詹申欧耿关兰焦俞左柳甘祝包宁符阮尚舒纪柯梅童毕单裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳"
    "管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜"
    "冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞姬师和仇栾隋商刁沙荣巫寇桑郎甄丛仲虞敖巩明佘"
    "池查麻苑迟"
)
CHINESE_DOUBLE_SURNAMES = words_of("""
    欧阳 上官 司马 诸葛 东方 皇甫 尉迟 公孙 令狐 慕容 夏侯 端木
""")
CHINESE_GIVEN = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超霞平刚桂英华玉兰红建国志文斌辉鹏飞宇浩欣怡子涵雨晨佳琪"
)
CHINESE_PLACES = words_of(
    "东安 南平 西宁 北川 临河 清溪 长青 永和 新桥 石门 青松 白云 安宁 福田 高台 太平"
)


_GIVEN_NAMES = frozenset(GIVEN_NAMES)
_PART = r"(?:(?:Mc|Mac|O['’]|D['’]|De|Di|Van)?[A-Z][a-zà-öø-ÿ]{1,20}(?:-[A-Z][a-zà-öø-ÿ]{1,20})?)"
_SURNAME = rf"(?:(?:van der|van|von|de la|de|del|di) )?{_PART}"
_NAME = rf"{_PART}(?: [A-Z]\.| [A-Z][a-z]{{1,20}}(?= [A-Z]))? {_SURNAME}(?![\w-])"
# A word that could begin a name, or a title, before another one.
_FIRST = re.compile(
    r"[A-Z](?<![\w.@/'’-][A-Z])(?P<rest>[a-z]{1,14})(?:-[A-Z][a-z]{1,14})?(?P<dot>\.?) (?=[A-Zvd])"
)
_GIVEN = r"[A-Z][a-z]{1,14}(?:-[A-Z][a-z]{1,14})?"
_FULL_NAME = re.compile(rf"{_GIVEN}(?: [A-Z]\.){{0,2}} {_SURNAME}(?![\w-])")
_WITH_MIDDLE = re.compile(rf"{_GIVEN} (?P<middle>[A-Z][a-z]{{1,14}}) {_SURNAME}(?![\w-])")
_TITLES = frozenset(
    words_of("""
    Mr Mrs Ms Miss Dr Prof Professor Doctor Judge Sir Dame Rev Reverend Sen Rep Senator Officer
    Sergeant Sgt Capt Captain Detective Lt Col
    """)
)
_CUE_PARTS = (
    *("ame is ", "ame:", "erson:", "incerely,", "egards,", "Best,", "Yours", "igned"),
    *("ttn", "ecipient"),
)
_CUES = re.compile(
    r"(?<![A-Za-z])(?:[Mm]y name is |(?:[Ff]ull |[Cc]ontact |[Ff]irst and last )?[Nn]ame: ?|"
    r"[Cc]ontact person: ?|(?:Sincerely|(?:Best |Kind )?[Rr]egards|Best|Yours|Yours truly),\s{1,2}|"
    r"[Ss]igned(?: by)?:? |[Aa]ttn\.?:? |[Rr]ecipient: ?)(?=[A-Z])"
)
_NAME_AFTER = re.compile(_NAME)
_NO_SURNAMES = frozenset(
    words_of("""
    Street Road Avenue Lane Drive Court Place Square Park Bridge River Lake Mount Mountain Hills
    Valley Island Islands Bay Beach Creek Falls Point Station Airport Harbour Harbor Line Metro
    County City Town Village University College School Elementary Academy Institute Hospital Clinic
    Church Cathedral Chapel Museum Library Theatre Theater Center Centre House Tower Building Hotel
    Company Corporation Corp Inc Ltd Group Bank Foundation Trust Fund Prize Award Medal Cup Act Law
    Report Day Week Period Limits Server System File Folder Windows Office Edition Version Press
    Records Stadium Arena Field Fort Castle Palace Garden Gardens Memorial Middle High Junior
    The And Of For With From This That Is Was Not To In On At By
    """)
)
_NO_FOLLOWERS = re.compile(
    r" (?:Street|Road|Avenue|Bridge|River|Lake|University|College|School|Elementary|High|Middle|"
    r"Academy|Institute|Hospital|Church|Museum|Library|Theatre|Theater|Center|Centre|Hall|Tower|"
    r"Building|Hotel|Company|Corporation|Corp|Inc|Ltd|LLC|GmbH|AG|Group|Bank|Foundation|Trust|Prize|"
    r"Award|Stadium|Airport|Park|Memorial|Cup|Line|County)(?![A-Za-z])"
)
_NO_LEADERS = re.compile(
    r"(?:St\.?|Saint|San|Santa|Fort|Mount|Mt\.?|Lake|Port|Cape|The|King|Queen|Pope) \Z"
)


_DOUBLE = "|".join(CHINESE_DOUBLE_SURNAMES)
_FAMILY = rf"(?:{_DOUBLE}|[{CHINESE_SURNAMES}])"
_CHINESE_NAME = rf"{_FAMILY}[{HAN}]{{1,2}}"
_CHINESE_BEFORE = re.compile(
    r"(?:姓名|联系人|户名|开户名|作者|编辑|收件人|收货人|寄件人|经办人|负责人|法定代表人|法人代表|法人|名叫|[我他她]叫|叫做|"
    r"本名|原名|真名|记者|患者|被告人|被告|原告|嫌疑人|申请人|委托人|监护人|投保人|承租人|出租人)"
    rf"[ 　]?[：:]?[ 　]?(?P<name>{_CHINESE_NAME})"
    rf"(?=[^{HAN}]|\Z|先生|女士|小姐|同学|老师|教授|医生|报道|诉|说|称|的|和|与|手机|电话|性别|男|女|汉族)"
)
_BEFORE = "[由和与向给找是请让叫被对为及的谢持]"
_TIMES = (
    "今天|昨天|明天|后天|前天|当天|今日|昨日|近日|日前|今年|去年|上午|下午|晚上|今晚|昨晚|当时|随后"
)
_CHINESE_AFTER = re.compile(
    rf"(?:(?<![{HAN}])|(?<={_BEFORE})|(?<={_TIMES}))(?P<name>{_FAMILY}[{HAN}]{{1,2}}?)"
    r"(?=先生|女士|小姐|同学|老师|教授|医生|同志|院士|律师|博士)"
)
_NO_GIVEN = re.compile(
    "[的了是在有不也都就和与及或被把让给向从会后前说要别你我他她它这那来去上下某]|"
    "先生|女士|小姐|老师|经理"
)
_NO_NAMES = frozenset(
    words_of("""
    时光 明白 应该 和平 高等 安全 成为 方面 有关 金融 全国 华为 全体 高级 高一 高二 高三 高中 高手
    金牌 党员 华裔 白衣 单身 时尚 安静 白痴 路人 万岁
    """)
)


def find_person_names(text: str) -> Spans:
    """Return the positions of full names, in English and Chinese."""
    spans = {*_find_by_first_word(text), *_find_after_cues(text)}
    if not text.isascii():
        spans.update(_find_chinese(text))
    return sorted(spans)


def _find_by_first_word(text: str) -> Iterator[tuple[int, int]]:
    """Yield names that begin with a common given name, or follow a title."""
    done = 0
    for match in _FIRST.finditer(text):
        word = match[0][: 1 + len(match["rest"])]
        if word in _TITLES:
            name = _NAME_AFTER.match(text, match.end())
        elif word in _GIVEN_NAMES and not match["dot"] and match.start() >= done:
            name = _WITH_MIDDLE.match(text, match.start())
            if name is None or name["middle"] not in _GIVEN_NAMES:
                name = _FULL_NAME.match(text, match.start())
        else:
            continue
        if name is not None and _is_person(text, name):
            done = name.end()
            yield name.span()


def _is_person(text: str, name: re.Match[str]) -> bool:
    """Whether neither the words of a name nor those around it are those of a place or a firm."""
    if any(word in _NO_SURNAMES for word in name[0].split(" ")):
        return False
    if _NO_FOLLOWERS.match(text, name.end()):
        return False
    return _NO_LEADERS.search(text[max(0, name.start() - 8) : name.start()]) is None


def _find_after_cues(text: str) -> Iterator[tuple[int, int]]:
    if not any(part in text for part in _CUE_PARTS):
        return
    for match in _CUES.finditer(text):
        name = _NAME_AFTER.match(text, match.end())
        if name is not None and _is_person(text, name):
            yield name.span()


def _find_chinese(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_CHINESE_BEFORE, _CHINESE_AFTER):
        for match in pattern.finditer(text):
            name = match["name"]
            if not _NO_GIVEN.search(name[1:]) and name not in _NO_NAMES:
                yield match.span("name")
