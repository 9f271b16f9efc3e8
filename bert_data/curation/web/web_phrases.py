"""Phrases of web pages that are not prose: navigation, menus, calls to action.

    cut_phrases("The council met on Monday. Read more »")      ->  "The council met on Monday."
    cut_phrases("Sign in | Register")                          ->  ""
    cut_phrases("查看更多>>")                                    ->  ""

They are English and Chinese, and intended for short lines: RefinedWeb (Penedo et al. 2023, G.2)
names the kinds; the phrases are this project's own. A line is searched for a phrase if it contains
the phrase's key.
"""

import re


def any_of(*lists: str) -> str:
    """Return an expression for any phrase of the lists, whose phrases are separated by "|"."""
    return f"(?:{'|'.join(part.strip('|') for part in lists)})"


_NUMBER = r"[0-9][0-9.,]*+\s?(?:[kKmMbB](?![A-Za-z])|万|千|亿)?\+?"
_COUNTED = any_of(
    "likes?|shares?|comments?|views?|followers?|following|retweets?|reposts?|tweets?|replies|reply",
    "reads?|votes?|upvotes?|favou?rites?|subscribers?|downloads?|ratings?|reviews?|reactions?",
    "responses?|posts?|photos?|videos?|fans?|hits?|claps?|bookmarks?|pins?|plays?|notes?|hearts?",
    "people (?:like|liked|found) this|(?:people )?(?:online|watching)|users? online|impressions?",
    "results?|items?|products?|views? today|total views?|page views?|visits?|visitors?|saves?",
    "listings?|answers?|threads?|topics?|messages?|contributions?|stars?|forks?",
)
_COUNTED_CHINESE = (
    "(?:人|次|条|个|篇|位|张|名)?"
    + any_of(
        "点赞|赞|踩|评论|阅读|浏览|播放|转发|收藏|分享|关注|粉丝|回复|下载|喜欢|参与|访问|点击|跟贴",
        "跟帖|投票|回答|留言|围观|在看|想看|看过|观看|评价|在线|热度|人气|帖子|弹幕",
    )
    + "(?:过|量|数|次数|人数)?了?"
)
_OF_NUMBER = rf"\s{{0,3}}[:：]?\s{{0,3}}[(（]?{_NUMBER}[)）]?"
_COUNTER = any_of(
    rf"{_NUMBER}\s{{0,3}}{_COUNTED}",
    rf"{_COUNTED}{_OF_NUMBER}",
    rf"{_NUMBER}\s{{0,3}}{_COUNTED_CHINESE}",
    rf"(?:总|今日|累计|已有)?{_COUNTED_CHINESE}{_OF_NUMBER}[人次条个]?",
    rf"(?:共有?|已有){_NUMBER}\s{{0,3}}{_COUNTED_CHINESE}",
    r"rated [0-9.]{1,4} out of [0-9]{1,3}(?: stars)?|[0-9.]{1,4} out of [0-9]{1,3} stars?",
    r"[0-9]{1,6} of [0-9]{1,6} (?:people|users|customers) found this (?:review )?helpful",
    r"page [0-9]{1,6} of [0-9]{1,6}|"
    r"showing [0-9]{1,6}\s?[-–]\s?[0-9]{1,6} of [0-9]{1,6}[\w ]{0,12}",
    "第\\s?[0-9]{1,6}\\s?页[/，, ]?\\s?共\\s?[0-9]{1,6}\\s?页",
)
_COUNTERS = re.compile(
    rf"[\s·•|/,，(（\[-]{{0,4}}{_COUNTER}(?:[\s·•|/,，、)）\]-]{{1,4}}+{_COUNTER}){{0,8}}"
    r"[\s.。)）\]]{0,4}",
    re.IGNORECASE,
)


def is_counter(line: str) -> bool:
    """Whether a line counts likes, comments, views and the like, and nothing else."""
    return _COUNTERS.fullmatch(line) is not None


_HAN = r"\u3400-\u9fff"
# A phrase of navigation is followed by a separator, or by nothing.
_SEPARATORS = r"[\s|/>»›→·•:：,，、–—-]*+"
_ITEM_END = r"(?=\s{0,3}(?:[|/>»›→·•:：–—]|\Z))"
_ITEMS = any_of(
    "home|homepage|main menu|menu|toggle navigation|navigation|search|about us|about|contact us",
    "contact|sitemap|site map|faqs?|help|blog|news|archives?|categories|tags|privacy policy",
    "privacy",
    "terms of (?:use|service)|terms|sign in|sign up|sign out|log ?in|log ?out|register|my account",
    "account|cart|checkout|wishlist|subscribe|newsletter|rss|share|tweet|print|e-?mail|download",
    "previous(?: post| page| article)?|next(?: post| page| article)?|prev|back|back to top",
    "back to home|top|close|reply|report|permalink|link|advertisements?|ads?|facebook|twitter",
    "instagram|youtube|linkedin|pinterest|whatsapp|tiktok|reddit|create (?:an )?account|my profile",
    "careers|jobs|press|media|team|our team|services|products|portfolio|gallery|shop|store|events",
    "forums?|members?|users?|settings|options|edit|delete|quote|like|follow|save|more|view cart",
    "accessibility|cookies|legal|imprint|disclaimer|donate|support|feedback|order status|"
    "track order",
    "(?:older|newer) (?:posts|entries|comments)|(?:first|last|next|previous|prev) page|load more",
    "related (?:posts|articles|stories|products)|recent (?:posts|comments)|popular posts",
    "(?:skip|jump) to (?:main |the )?(?:content|navigation|search|menu)|skip navigation|skip links",
    "show (?:comments|replies|menu)|hide (?:comments|replies|menu)|expand all|collapse all",
)
_ITEMS_CHINESE = any_of(
    "返回首页|网站首页|首页|主页|登录|登陆|注册|免费注册|加入收藏|设为首页|联系我们|关于我们",
    "网站地图|返回顶部|返回上一页|返回列表|返回|上一篇|下一篇|上一页|下一页|打印本页|打印|关闭窗口",
    "关闭|分享|收藏|搜索|导航|菜单|帮助中心|帮助|我的账户|购物车|客服中心|论坛|栏目导航|会员中心",
    "退出|举报反馈|举报|广告|新闻中心|产品中心|产品展示|新闻动态|公司简介|企业文化|人才招聘|在线留言",
    "会员登录|用户登录|用户注册|会员注册|忘记密码|找回密码|返回上级|返回上页|尾页|末页|我的订单|我的收藏",
    "意见反馈|隐私政策|服务条款|用户协议|友情链接|联系方式|加入我们|招聘信息|客户服务|在线客服|手机版",
    "相关阅读|相关新闻|相关文章|相关推荐|热门推荐|热门文章|猜你喜欢|推荐阅读|最新文章|最新评论",
    "展开|收起|回复|点赞|转发|引用|编辑|删除|保存|更多|全部|不喜欢|踩|赞",
)
_TO_DO = any_of(
    "comment|reply|vote|continue|view|post|your account|follow|like|leave a comment|see more",
    "read more",
)
_BEGINS = re.compile(
    any_of(
        # Breadcrumbs and links to other pages extend to the end of the line.
        "you are here[:：].*|(?:当前位置|您的位置|您现在的位置|你的位置|所在位置|位置)[:：].*",
        "分享(?:到|至)[:：].*",
        "(?:上一篇|下一篇|上一条|下一条)[:：].*|(?:previous|next)(?: post| article)?[:»›].*",
        r"(?:home|网站首页|首页|主页)\s{0,3}[>»›/]\s{0,3}\S.*",
        rf"(?:{_ITEMS}|{_ITEMS_CHINESE}){_ITEM_END}",
        rf"{_ITEMS_CHINESE}(?=\s{{1,3}}{_ITEMS_CHINESE}(?:\s|\Z))",
        "(?:log|sign) ?in or |register (?:or|and) (?=log|sign)|(?:sign|"
        "log) ?in with [a-z]{2,12}\\Z",
        r"(?:filed under|tagged(?: with)?|tags|posted (?:in|under)|categor(?:y|ies)|topics)[:：].*",
        r"(?:标签|关键词|责任编辑|编辑|校对|审核|导航|版权声明|免责声明|字号|来源)[:：].*",
        r"(?:open|close|toggle|show|hide|expand|collapse) (?:the )?(?:main )?(?:menu|navigation|"
        r"sidebar|"
        r"search|filters?|comments|all)(?: menu)?\Z|(?:back|return|go) to (?:the )?(?:top|results|"
        r"list|"
        r"home|homepage|previous page|search|main page|overview|article|index)\Z",
        r"(?:main|home|index) page\Z|skip (?:ad|ads|advertisement|intro)\Z|(?:change|"
        r"select) (?:your )?"
        r"(?:language|region|country|currency)\Z|(?:e-?mail|send|forward) (?:this )?to a friend\Z",
        r"(?:print|e-?mail|report|cite|flag|bookmark) this (?:page|article|post|ad|story|entry)\Z",
        r"请?先?(?:登录|注册)后?(?:才能|可以?|再|即可|方可)?(?:评论|回复|查看|发帖|下载|留言|继续)?\Z",
        r"返回(?:频道|网站|本站|论坛|上一级|目录|列表|顶部|主页|首页){1,2}\Z|没有(?:账号|帐号).{0,8}\Z",
        r"(?:sign|log) ?in(?: or (?:sign up|register|create an account))?"
        rf"(?: to {_TO_DO})?\s{{0,3}}[.!]?\s{{0,3}}(?:\Z|(?=[|/>»›·•]))",
        "(?:share|save|pin|tweet|post|email|print) (?:this|it)"
        r"(?: (?:article|story|page|post|on|via|with friends|to|:)){0,2}"
        r"(?=\s{0,3}(?:[|/>»›·•:]|\Z))",
    )
    + _SEPARATORS,
    re.IGNORECASE,
)

_MORE = any_of(
    "[Rr]ead (?:[Mm]ore|on|[Ff]ull (?:[Aa]rticle|[Ss]tory)|[Mm]ore [Dd]etails|the (?:full|"
    "rest of the|whole) (?:story|article|post|entry|report))",
    "READ MORE|(?:[Cc]ontinue|CONTINUE|[Kk]eep) (?:[Rr]eading|READING)|[Ll]earn [Mm]ore|LEARN MORE",
    "[Ss]ee (?:[Mm]ore|[Aa]ll)|[Ss]how (?:[Mm]ore|[Aa]ll)|[Vv]iew (?:[Mm]ore|[Aa]ll|full post)",
    "[Ff]ind [Oo]ut [Mm]ore|[Ll]oad [Mm]ore|[Cc]lick (?:here|for more)",
    "[Ff]ull (?:[Ss]tory|[Aa]rticle)",
    "VIEW ALL|SHOW MORE|SEE MORE|LOAD MORE|CLICK HERE|[Mm]ore (?:[Ii]nfo(?:rmation)?|[Dd]etails)|"
    "[Ss]hop [Nn]ow",
    "SHOP NOW|[Bb]uy [Nn]ow|[Oo]rder (?:[Yy]ours )?[Nn]ow|[Bb]ook [Nn]ow|[Jj]oin [Nn]ow|"
    "[Ss]ign [Uu]p|[Rr]eply",
    "[Ss]ubscribe|[Dd]ownload [Nn]ow|[Gg]et [Ss]tarted|[Aa]pply [Nn]ow|[Dd]onate [Nn]ow|"
    "[Vv]iew [Dd]e"
    "tails|[Ss]tart (?:your )?(?:free )?trial|[Rr]egister [Nn]ow|[Tt]ry it (?:free|now)|"
    "[Vv]iew post",
)
_MORE_CHINESE = any_of(
    "(?:点击)?(?:阅读|查看|了解|浏览|显示|加载|展开|进入)(?:更多|全文|原文|详情|全部|详细)"
    "(?:内容|信息|评论)?",
    "更多(?:详情|内容|精彩|新闻|资讯|信息|评论)?|全文|详情|详细|点击查看|点击进入|点击这里",
    "点此(?:进入|查看|下载)|立即(?:下载|报名|咨询|预约|体验|申请|查看)|马上(?:报名|咨询|预约)",
    "我要(?:评论|报名|咨询|留言|投稿)|点击(?:购买|下载|报名|领取|进入|观看|收听|阅读|这里|链接)",
    "(?:立即|马上)(?:购买|抢购|注册|加入|领取|开通|下单)|免费(?:试用|下载|领取|咨询)",
)
_DECORATION = r"(?:\s{0,3}(?:[.!…>»›→➜▶\]】）)]|&raquo;)){1,4}"
_ENDS = re.compile(
    any_of(
        # Capitalized or after a separator; in lower case only before a mark unusual in prose.
        rf"(?<!\w)[\[【(（]?\s?(?=[A-Z]){_MORE}(?:{_DECORATION})?",
        rf"(?:(?<=[.!?…:»|])|\A)\s{{0,3}}\[?{_MORE}(?:{_DECORATION})?",
        rf"(?<!\w){_MORE}\s?(?:[>»›→➜▶]|&raquo;)+",
        rf"[(\[]\s?(?:{_MORE}|more)\s?[)\]]",
        r"\[\s?(?:…|\.\.\.)\s?\]",
        rf"(?:\A|(?<=[。！？…，,.!?:：；\s]))[\[【（(]?{_MORE_CHINESE}(?:{_DECORATION})?",
        rf"[\[【（(]\s?{_MORE_CHINESE}\s?[\]】）)](?:{_DECORATION})?",
        rf"{_MORE_CHINESE}\s?[>»›→]+|[>»›→]+\s?(?:查看|阅读|详情|更多|全文|进入)",
    )
    + r"\s*\Z"
)
_KEYS_OF_ENDS = (
    "get started|apply|donate|details|trial|try it|post|now!|read|more|all|click|full| now|sign up|"
    "reply|subscribe|…|...|>>|»|更多|全文|原文|详|点击|点此|立即|马上|我要|全部|view|免费|报名"
)
_MAX_END_CHARACTERS = 48

_SITES = (
    r"(?:facebook|twitter|x|instagram|linkedin|pinterest|whatsapp|youtube|reddit|telegram)(?!\w)"
)
_ANYWHERE = re.compile(
    any_of(
        r"[0-9]+ items?(?:\(s\))? in (?:your |the )?(?:shopping )?(?:cart|bag|basket)",
        r"items?(?:\(s\))? in your (?:shopping )?(?:cart|bag|basket)|\Aitems? in cart\Z",
        r"add(?:ed)? to (?:cart|bag|basket|wishlist|wish list|compare|favou?rites)(?!\w)",
        r"your (?:shopping )?(?:cart|bag|basket) is empty|view (?:cart|basket|bag)(?!\w)",
        r"(?:copyright\s{0,3})?(?:©|\(c\))?\s{0,3}(?:[0-9]{4}\s{0,3})?all rights reserved\.?",
        r"(?:we|this (?:site|website)) uses? cookies[^.]{0,80}+\.?",
        r"(?:accept|manage|reject) (?:all )?cookies|cookie (?:policy|settings|preferences|notice)",
        r"(?:subscribe|sign up) (?:to|for) our (?:free |weekly |daily )?(?:e-?mail )?"
        r"(?:newsletter|mailing list|channel)[.!]?",
        rf"(?:share|follow us|find us|like us|join us|tweet|pin it?|post) (?:this )?"
        rf"(?:on|to|via) {_SITES}[.!]?",
        r"follow @\w{1,30}",
        "powered by (?:wordpress|blogger|disqus|shopify|drupal|joomla|vbulletin|phpbb)",
        r"please enable javascript[^.]{0,60}+\.?",
        r"leave a (?:reply|comment)(?: below)?[.!]?(?=\s|\Z)",
        r"(?:post|write|add) a (?:comment|review)\Z",
        r"\A(?:enter|type) your (?:e-?mail|name|search)[^.]{0,24}+|\Aclick to (?:enlarge|zoom|"
        r"expand|view|"
        r"share|print|copy|open|play|tweet)[^.]{0,24}+|\Ayour comment is awaiting moderation\.?",
        r"\A(?:join|get|receive) our (?:free |weekly |daily )?(?:mailing list|newsletter|"
        r"community)[^.]{0,24}+",
        r"\A(?:save|add|remove) (?:to|from) (?:your |my )?(?:wish ?list|favou?rites|list|cart|"
        r"bag)\Z",
        r"(?:connect|stay in touch|keep up) with us(?: on [a-z]{2,12})?[.!]?|\A(?:cart |order |"
        r"sub)?total: .{1,12}\Z",
        r"be the first to (?:comment|review|like|share)[^.]{0,20}+\.?",
        r"click here (?:to|for)[^.]{0,60}+\.?|your e-?mail address will not be published\.?",
        "加入购物车(?!的)|购物车(?:内|里|中)?(?:有|共)?\\s?[0-9]+\\s?件(?:商品)?",
        "版权所有(?![人者权])|(?:微信)?扫(?:码|一扫)[^。，]{0,12}(?:关注|添加|下载|二维码|公众号|领取|加群|入群|优惠)",
        "长按(?:识别)?二维码[^。]{0,8}+|欢迎关注[^。，]{0,12}(?:公众号|订阅号|视频号)",
        "点击(?:上方|下方)[^。]{0,12}+|分享[到至](?:微信|微博|朋友圈|QQ空间|QQ好友|新浪微博)",
        "未经[^。，]{0,8}(?:许可|授权|允许|同意)[^。]{0,10}(?:转载|复制)",
        "点个?(?:赞|在看)(?:再走|支持|吧|哦|呀)[^。]{0,4}|欢迎(?:转发|分享|点赞|留言)[^。，]{0,8}",
        r"\A(?:长按|下载(?:APP|App|app|客户端|手机版)|分享给|打开(?:APP|App|微信))[^。]{0,20}\Z|\A关注我们\Z",
        r"未经[^。，]{0,8}请勿(?:转载|复制)|\A觉得[^。]{0,8}(?:点赞|分享|转发|收藏)[^。]{0,6}\Z",
        "(?:未完待续|图片来自网络|图片来源[:：]?网络|本文来源[:：][^。]{0,12})",
        "转载请(?:注明|联系)[^。]{0,12}+|我来说两句|文明上网[^。]{0,20}+",
        rf"(?<![{_HAN}])"
        + any_of(
            "立即购买|立即注册|发表评论|写评论|免责声明|举报电话|设为首页|加入收藏|求点赞|求关注",
            "关注(?:我们的?|本)?(?:官方)?(?:微信)?(?:公众号|订阅号|视频号)|喜欢就点个?赞|免费注册",
        )
        + rf"(?![{_HAN}])",
    ),
    re.IGNORECASE,
)
_KEYS_ANYWHERE = (
    "cart| bag|basket|wish|compare|favo|rights res|cookie|newsletter|mailing|channel|follow @|"
    "powered by|javascript|leave a|comment|review|to like|to share|click here|address will| on |"
    " to | via |enter |type |get our|join our|receive our|to enlarge|to zoom|moderation|from |"
    "with us|total|长按|下载|打开|觉得|未经|"
    "二维码|关注|点击|分享|转发|留言|在看|待续|来自网|来源|转载|复制|两句|"
    "文明|注册|评论|声明|举报|设为|收藏|赞|购|版权|扫"
)
_LISTS_OF_KEYS = {"ends": _KEYS_OF_ENDS.split("|"), "anywhere": _KEYS_ANYWHERE.split("|")}
_LEFT_OVER = " \t\u3000|/>»›→·•:：,，、–—-[]【】()（）"


_MENU_MARKS = re.compile(r"\s*[|｜»›]\s*|\s+[·•>/-]\s+")
_MIN_MENU_ITEMS = 3
_MAX_ITEM_WORDS, _MAX_ITEM_CHARACTERS = 3, 24
_MAX_HAN_ITEM = 6


def is_menu(line: str) -> bool:
    """Whether a line is three or more short items with separators and without numbers."""
    items = [item for item in _MENU_MARKS.split(line.strip()) if item]
    return len(items) >= _MIN_MENU_ITEMS and all(map(_is_item, items))


def _is_item(text: str) -> bool:
    if any(map(str.isdigit, text)) or text[-1] in ".,;:!?。，；：！？":
        return False
    if not text.isascii() and len(text.split()) == 1:
        return len(text) <= _MAX_HAN_ITEM
    return len(text) <= _MAX_ITEM_CHARACTERS and len(text.split()) <= _MAX_ITEM_WORDS


def cut_phrases(line: str) -> str:
    """Remove navigation at the start of a short line, calls at its end, and other phrases anywhere.

    Returns:
      The line itself if it has no phrase; otherwise the remainder, without separators at its ends.
    """
    rest = line
    while True:
        if is_menu(rest):  # the remainder of a line may be one, too
            return ""
        before, lower = rest, rest.lower()
        if any(map(lower.__contains__, _LISTS_OF_KEYS["anywhere"])):
            rest = _ANYWHERE.sub("", rest)
        begin = _BEGINS.match(rest)
        if begin is not None:
            rest = rest[begin.end() :]
        if any(map(lower[-_MAX_END_CHARACTERS:].__contains__, _LISTS_OF_KEYS["ends"])):
            rest = _ENDS.sub("", rest, count=1)
        if rest == before:
            return rest
        rest = rest.strip(_LEFT_OVER)
